"""`jobforge-py worker app.tasks`: runs the handlers of modules until it is stopped."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from ..aio.forge import AsyncJobForge
from ..arguments import refuse
from ..errors import InvalidArgumentError, JobForgeError
from ..fast import loop_factory
from ..worker.monitor import Monitor
from ..worker.worker import Worker
from .connectors import connector_handlers
from .handlers import load_handlers, of_types
from .processes import CHILD, RENEW, Supervisor
from .values import add_connection_options, connection_arguments, count, span, tenant
from .watch import CHANGED, until_changed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from ..definition import JobHandler

# How often a worker looks whether it has run enough jobs or uses too much memory.
_LOOK_EVERY: Final = 0.2
# The time that running jobs get when a file has changed.
_CHANGED_GRACE: Final = 1.0


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to a parser. `args.run(args)` runs it and returns the exit code."""
    parser = commands.add_parser(
        "worker",
        help="run the handlers of modules until stopped",
        description="Runs every handler of the modules. After SIGTERM or Ctrl-C, running jobs may finish; a second"
        " signal stops at once. Logs are JSON lines, or readable text in a terminal.",
    )
    add_handler_arguments(parser)
    parser.add_argument("--grace", type=span, metavar="SPAN", help="how long running jobs may continue (30s)")
    parser.add_argument("--no-listen", action="store_true", help="only poll, for poolers in transaction mode")
    parser.add_argument("--watch", action="store_true", help="restart when a loaded module changes")
    parser.add_argument("--processes", type=count, default=1, metavar="N", help="run this many worker processes (1)")
    parser.add_argument("--max-jobs", type=count, metavar="N", help="replace the process after this many jobs")
    parser.add_argument("--max-memory", type=count, metavar="MIB", help="replace the process when it uses more memory")
    parser.add_argument("--metrics-port", type=int, metavar="PORT", help="serve /healthz, /readyz and /metrics")
    parser.add_argument("--metrics-host", default="127.0.0.1", metavar="ADDRESS", help="for --metrics-port (127.0.0.1)")
    parser.set_defaults(run=run)


def add_handler_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that `worker` and `tick` share."""
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="a module with handlers, such as app.tasks")
    parser.add_argument(
        "--connectors", action="store_true", help="also run the connectors: HTTP requests, webhooks and reports"
    )
    parser.add_argument("--concurrency", type=int, metavar="N", help="the number of handlers that run at once (10)")
    parser.add_argument("--types", metavar="TYPES", help="run only these types, separated by commas")
    parser.add_argument("--tenant", type=tenant, metavar="ID", help="run only the jobs of this tenant, such as org_123")
    parser.add_argument("--id", metavar="NAME", help="the worker's name (host, process and a random part)")
    parser.add_argument("--no-sync", action="store_true", help="do not write the definitions to the policies")
    parser.add_argument(
        "--app-version", metavar="VERSION", help="the version of the application (default: JOBFORGE_APP_VERSION)"
    )
    parser.add_argument("--offload", action="store_true", help="put large results into the store JOBFORGE_ARTIFACTS")
    add_connection_options(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if CHILD not in os.environ and _is_supervised(args):
        if args.processes > 1:
            _check_shared(args)
        arguments = ["worker", *_arguments(args)]
        return Supervisor(arguments, processes=args.processes, watches=args.watch).run()
    return run_on_loop(lambda: _work(args))


def _is_supervised(args: argparse.Namespace) -> bool:
    """Whether another process starts the worker again."""
    return args.watch or args.processes > 1 or args.max_jobs is not None or args.max_memory is not None


def _check_shared(args: argparse.Namespace) -> None:
    """A name and a port can be used by one process only."""
    for option, value in (("--id", args.id), ("--metrics-port", args.metrics_port)):
        if value is not None:
            raise InvalidArgumentError(
                f"{option} is for one process, and --processes starts {args.processes}",
                hint="Start the command several times instead, each with its own.",
            )


def run_on_loop(work: Callable[[], Any]) -> int:
    """Runs a coroutine function on the event loop that fits the platform, or on that of the extra `fast`."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        code: int = runner.run(work())
        return code


def loaded_handlers(args: argparse.Namespace) -> list[JobHandler[Any, Any]]:
    """The handlers of the modules that were named."""
    if not args.modules and not args.connectors:
        refuse("MODULE", "is missing", "Name a module with handlers, such as app.tasks, or pass --connectors.")
    return load_handlers(args.modules)


def worker_options(
    args: argparse.Namespace, forge: AsyncJobForge, loaded: list[JobHandler[Any, Any]]
) -> dict[str, Any]:
    """The options of a worker that both commands have. Those that were not given are left out."""
    handlers = [*loaded, *(connector_handlers(forge) if args.connectors else ())]
    given = {
        "handlers": of_types(handlers, args.types.split(",") if args.types else None),
        "concurrency": args.concurrency,
        "tenant": args.tenant,
        "id": args.id,
        "app_version": args.app_version or os.environ.get("JOBFORGE_APP_VERSION") or None,
        "sync": not args.no_sync,
        "offload": args.offload,
    }
    return {name: value for name, value in given.items() if value is not None}


async def _work(args: argparse.Namespace) -> int:
    try:
        handlers = loaded_handlers(args)
    except JobForgeError:
        raise
    except Exception:
        if CHILD not in os.environ:
            raise
        # The process that watches reports it, and waits for a change.
        traceback.print_exc()
        return 1
    async with AsyncJobForge(**connection_arguments(args)) as forge:
        options = worker_options(args, forge, handlers)
        if args.grace is not None:
            options["grace"] = args.grace
        # A wrong address or a database without JobForge fails at once. Later the worker waits for the database.
        await forge.transport.call("jobforge_get_policy", {"p_type": "*"}, timeout=10)
        worker = Worker(forge, listen=not args.no_listen, **options)
        with ExitStack() as stack:
            if args.metrics_port is not None:
                monitor = stack.enter_context(Monitor(worker, port=args.metrics_port, host=args.metrics_host))
                sys.stderr.write(f"Health and metrics: {monitor.url}\n")
            return await _until_end(worker, args)


async def _until_end(worker: Worker, args: argparse.Namespace) -> int:
    """Works until a signal comes, until a file has changed, or until the process should be replaced."""
    codes: list[int] = []
    tasks: list[asyncio.Task[None]] = []

    def stop_when(happens: Any, code: int, grace: float | None) -> None:
        async def stop() -> None:
            await happens
            # Before the worker stops, because the program may end in the same moment.
            codes.append(code)
            await asyncio.shield(asyncio.ensure_future(worker.stop(grace=grace)))

        tasks.append(asyncio.get_running_loop().create_task(stop()))

    if args.watch:
        stop_when(until_changed(), CHANGED, _CHANGED_GRACE)
    if args.max_jobs is not None or args.max_memory is not None:
        stop_when(_until_spent(worker, args.max_jobs, args.max_memory), RENEW, args.grace)
    try:
        await worker.run()
    finally:
        for task in tasks:
            task.cancel()
    return codes[0] if codes else 0


async def _until_spent(worker: Worker, max_jobs: int | None, max_memory: int | None) -> None:
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        if max_jobs is not None and worker.metrics().runs.claimed >= max_jobs:
            return
        if max_memory is not None and _memory_used() > max_memory:
            return


def _memory_used() -> float:
    """The most memory that the process has used, in MiB."""
    try:
        import resource
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1024 / 1024 if sys.platform == "darwin" else used / 1024


def _arguments(args: argparse.Namespace) -> Sequence[str]:
    """The arguments for a child: all but --processes."""
    values = {
        "--concurrency": args.concurrency,
        "--types": args.types,
        "--tenant": args.tenant,
        "--id": args.id,
        "--metrics-port": args.metrics_port,
        "--metrics-host": args.metrics_host,
        "--app-version": args.app_version,
        "--grace": args.grace,
        "--max-jobs": args.max_jobs,
        "--max-memory": args.max_memory,
        "--database-url": args.database_url,
        "--api-schema": args.api_schema,
        "--url": args.url,
        "--token": args.token,
    }
    flags = {
        "--no-sync": args.no_sync,
        "--no-listen": args.no_listen,
        "--offload": args.offload,
        "--connectors": args.connectors,
        "--watch": args.watch,
    }
    found = list(args.modules)
    for name, value in values.items():
        if value is not None:
            found += [name, str(value)]
    return [*found, *(name for name, is_set in flags.items() if is_set)]
