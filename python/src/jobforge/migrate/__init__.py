"""Brings a database to this version of JobForge, without Node. The same as `jobforge migrate` of the npm package."""

from .errors import MigrationError
from .migrate import MigrateResult, MigrationStatus, migrate, migration_script, migration_status

__all__ = ["MigrateResult", "MigrationError", "MigrationStatus", "migrate", "migration_script", "migration_status"]
