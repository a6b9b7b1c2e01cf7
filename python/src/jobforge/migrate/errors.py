"""Why a migration was refused."""

from __future__ import annotations

from typing import Literal

MigrationErrorCode = Literal[
    "server_too_old",
    "newer_jobforge",
    "changed_migration",
    "api_schema_differs",
    "invalid_api_schema",
    "insufficient_privilege",
    "foreign_objects",
    "locked",
]


class MigrationError(Exception):
    """A migration that was refused or rolled back. Nothing has changed in the database. `hint` says what to do."""

    def __init__(self, code: MigrationErrorCode, message: str, hint: str) -> None:
        super().__init__(message)
        self.code: MigrationErrorCode = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}"
