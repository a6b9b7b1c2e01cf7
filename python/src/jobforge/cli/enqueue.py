"""`jobforge-py enqueue`: enqueues one job."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, get_args

from ..blocking.forge import JobForge
from ..definition import define_job
from ..words import GLOBAL_TENANT, DedupeMode
from .values import add_connection_options, connection_arguments, moment, payload, span, tenant


def add_command(commands: Any) -> None:
    """Adds the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "enqueue",
        help="enqueue a job",
        description="Enqueues a job and writes its id and outcome as JSON.",
        epilog='Example: jobforge-py enqueue mail.send \'{"to": "ada@example.com"}\' --delay 2h',
    )
    parser.add_argument("type", help="the type, such as mail.send")
    parser.add_argument(
        "payload", nargs="?", type=payload, default={}, help="JSON; @file reads a file, - the standard input"
    )
    parser.add_argument("--tenant", type=tenant, default=GLOBAL_TENANT, help="a UUID, or an id such as org_123")
    parser.add_argument("--run-at", type=moment, metavar="TIME", help="when to run it, such as 2026-01-31T12:00:00Z")
    parser.add_argument("--delay", type=span, metavar="SPAN", help="run it after a time span such as 90s, 15m or 2h")
    parser.add_argument("--expires-at", type=moment, metavar="TIME", help="do not start it after this time")
    parser.add_argument("--priority", type=int, help="jobs with a higher priority run first")
    parser.add_argument("--max-attempts", type=int, metavar="N", help="the total number of executions")
    parser.add_argument("--idempotency-key", metavar="KEY", help="enqueue it only once, while the job is stored")
    parser.add_argument("--dedupe-key", metavar="KEY", help="allow only one queued or running job with this key")
    parser.add_argument("--dedupe-mode", choices=get_args(DedupeMode), help="what happens to a job with the same key")
    parser.add_argument("--concurrency-key", metavar="KEY", help="count it to the limit of this key")
    parser.add_argument("--subject", help="what the job is about")
    parser.add_argument("--tag", action="append", dest="tags", help="repeat it for more tags")
    parser.add_argument(
        "--wait", nargs="?", type=span, const=0.0, metavar="SPAN", help="wait for the result, at most so long"
    )
    add_connection_options(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Runs the command."""
    names = ("run_at", "delay", "expires_at", "priority", "max_attempts", "idempotency_key", "dedupe_key")
    more = ("dedupe_mode", "concurrency_key", "subject", "tags")
    options = {name: getattr(given, name) for name in (*names, *more)}
    with JobForge(**connection_arguments(given)) as forge:
        handle = forge.enqueue(define_job(given.type), given.payload, tenant=given.tenant, **options)
        output: dict[str, Any] = {"id": handle.id, "outcome": handle.outcome}
        if given.wait is not None:
            output["result"] = handle.result(timeout=given.wait or None)
    sys.stdout.write(f"{json.dumps(output)}\n")
    return 0
