"""Django: jobs in the transaction of `atomic()`, and a backend for `django.tasks`. Needs `jobforge[django]`."""

from .backend import JobForgeBackend, JobForgeTask, task_handlers
from .connection import DjangoForge, database_of, forge

__all__ = [
    "DjangoForge",
    "JobForgeBackend",
    "JobForgeTask",
    "database_of",
    "forge",
    "task_handlers",
]
