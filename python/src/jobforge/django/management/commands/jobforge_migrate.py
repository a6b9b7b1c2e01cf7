"""`python manage.py jobforge_migrate`: brings a database of Django's settings to this version of JobForge."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ....errors import JobForgeError
from ....migrate import MigrationError, migrate
from ...connection import database_of


class Command(BaseCommand):
    """The migrations of JobForge."""

    help = "Brings a database to this version of JobForge. Any number of processes may run it at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--database", default="default", help="the alias of the database")
        parser.add_argument("--schema", default=None, help="the API schema (default: public)")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        try:
            result = migrate(database_of(options["database"]), api_schema=options["schema"])
        except (JobForgeError, MigrationError) as error:
            raise CommandError(str(error)) from error
        changed = "is now at" if result.refreshed else "was already at"
        self.stdout.write(f"The database {changed} JobForge {result.version}.")
