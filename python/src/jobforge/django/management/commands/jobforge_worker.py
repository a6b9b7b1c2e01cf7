"""`python manage.py jobforge_worker`: runs the tasks of all installed applications, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ....aio.forge import AsyncJobForge
from ....errors import JobForgeError
from ....worker import Worker
from ...connection import database_of
from ...handlers import project_handlers


class Command(BaseCommand):
    """The worker of Django's tasks, and of the definitions next to them."""

    help = "Runs the tasks and handlers of all installed applications, until SIGTERM or SIGINT."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("modules", nargs="*", help="modules with more handlers, such as shop.jobs")
        parser.add_argument("--concurrency", type=int, default=10, help="tasks that run at the same time, at most")
        parser.add_argument("--database", default="default", help="the alias of the database")
        parser.add_argument("--schema", default="public", help="the API schema")
        parser.add_argument("--once", action="store_true", help="run what is due now, and leave")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        try:
            handlers = project_handlers(options["modules"])
            if not handlers:
                raise CommandError("There is nothing to run: no installed application has tasks in a module tasks.py")
            asyncio.run(self._work(handlers, options))
        except JobForgeError as error:
            raise CommandError(str(error)) from error

    async def _work(self, handlers: Any, options: dict[str, Any]) -> None:
        database = database_of(options["database"])
        async with AsyncJobForge(database, schema=options["schema"]) as forge:
            # A wrong address or a database without JobForge fails at once. Later the worker waits for the database.
            await forge.transport.call("jobforge_get_policy", {"p_type": "*"}, timeout=10)
            worker = Worker(forge, handlers=handlers, concurrency=options["concurrency"])
            if options["once"]:
                summary = await worker.tick()
                self.stdout.write(f"{summary.succeeded} succeeded, {summary.claimed - summary.succeeded} did not")
            else:
                await worker.run()
