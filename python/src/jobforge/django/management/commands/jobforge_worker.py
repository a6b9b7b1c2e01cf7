"""`python manage.py jobforge_worker`: runs the tasks of all installed applications, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections
from django.utils.module_loading import autodiscover_modules
from psycopg.conninfo import make_conninfo

from ....aio.forge import AsyncJobForge
from ....worker import Worker
from ...backend import task_handlers


class Command(BaseCommand):
    """The worker of Django's tasks."""

    help = "Runs the tasks of all installed applications, until SIGTERM or SIGINT."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--concurrency", type=int, default=10, help="tasks that run at the same time, at most")
        parser.add_argument("--database", default="default", help="the alias of the database")
        parser.add_argument("--schema", default="public", help="the API schema")
        parser.add_argument("--once", action="store_true", help="run what is due now, and leave")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        autodiscover_modules("tasks")
        asyncio.run(self._work(options))

    async def _work(self, options: dict[str, Any]) -> None:
        database = database_of(options["database"])
        async with AsyncJobForge(database, schema=options["schema"]) as forge:
            worker = Worker(forge, handlers=task_handlers(), concurrency=options["concurrency"])
            if options["once"]:
                summary = await worker.tick()
                self.stdout.write(f"{summary.succeeded} succeeded, {summary.claimed - summary.succeeded} did not")
            else:
                await worker.run()


def database_of(alias: str) -> str:
    """How to reach a database of Django's settings."""
    parameters = connections[alias].get_connection_params()
    names = ("host", "port", "user", "password", "dbname", "sslmode", "sslrootcert", "options", "service")
    return make_conninfo(**{name: parameters[name] for name in names if parameters.get(name)})
