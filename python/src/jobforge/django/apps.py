"""The application `jobforge.django`, for INSTALLED_APPS: its commands, and migrations with `manage.py migrate`."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class JobForgeConfig(AppConfig):
    """It has no models: the kernel owns its tables."""

    name = "jobforge.django"
    label = "jobforge_django"
    verbose_name = "JobForge"

    def ready(self) -> None:
        post_migrate.connect(_migrate, sender=self)


def _migrate(*, using: str, **_: Any) -> None:
    """Installs or upgrades JobForge where a backend says so, in the databases of tests as well."""
    from django.tasks import task_backends

    from ..migrate import migrate
    from .backend import JobForgeBackend
    from .connection import database_of

    backends = [backend for backend in task_backends.all() if isinstance(backend, JobForgeBackend)]
    for schema in {backend.schema for backend in backends if backend.migrates and backend.database == using}:
        migrate(database_of(using), api_schema=schema)
