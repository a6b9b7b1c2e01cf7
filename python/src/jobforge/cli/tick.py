"""`jobforge-py tick app.tasks`: runs the jobs that are due now, then exits. For cron, instead of a worker."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from logging import WARNING, getLogger
from typing import TYPE_CHECKING

from ..aio.forge import AsyncJobForge
from ..worker.defaults import TICK_LIMIT
from ..worker.worker import TickSummary, Worker
from .values import connection_arguments
from .worker import add_handler_arguments, loaded_handlers, run_on_loop, worker_options

if TYPE_CHECKING:
    import argparse


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to a parser. `args.run(args)` runs it and returns the exit code."""
    parser = commands.add_parser(
        "tick",
        help="run the jobs that are due now, then exit",
        description="Runs the jobs that are due now with the handlers of the modules, then exits. For cron.",
    )
    add_handler_arguments(parser)
    parser.add_argument("--limit", type=int, default=TICK_LIMIT, metavar="N", help="the maximum number of jobs (100)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    return run_on_loop(lambda: _tick(args))


async def _tick(args: argparse.Namespace) -> int:
    handlers = loaded_handlers(args)
    async with AsyncJobForge(**connection_arguments(args)) as forge:
        options = worker_options(args, forge, handlers)
        # Standard output is for the result.
        logger = getLogger("jobforge.tick")
        logger.setLevel(WARNING)
        summary = await Worker(forge, logger=logger, handle_crashes=True, **options).tick(limit=args.limit)
    sys.stdout.write(f"{json.dumps(asdict(summary)) if args.json else describe(summary)}\n")
    return 0


def describe(summary: TickSummary) -> str:
    """The result in words."""
    if summary.claimed == 0:
        return "No jobs were due."
    ends = {name: count for name, count in asdict(summary).items() if name != "claimed" and count > 0}
    runs = f"{summary.claimed} run{'' if summary.claimed == 1 else 's'}"
    return f"{runs}: {', '.join(f'{count} {name}' for name, count in ends.items())}"
