"""Reads the SQL files of the kernel.

In the files, `:"api_schema"` and `:'api_schema'` stand for the API schema. They are psql's notation for a quoted
identifier and a quoted text.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from ..sql_files import sql_root

MIN_CLIENT: Final = "0.1.0"
"""The oldest client that works with this schema."""


@dataclass(frozen=True, slots=True)
class SqlFile:
    """One file."""

    name: str
    """The path below the folder, such as `functions/claim/claim.sql`. For a migration, only the file name."""
    sql: str
    checksum: str

    @property
    def number(self) -> int:
        """The number of a migration."""
        return int(self.name.split("_", 1)[0])

    def with_name(self) -> str:
        """The text, after a comment that says where it comes from."""
        return f"-- {self.name}\n{self.sql}"


@dataclass(frozen=True, slots=True)
class RepeatableFiles:
    """The repeatable files, in the order in which they are applied: see `apply-order.txt`."""

    before_tables: list[SqlFile]
    """Functions that the definitions of tables use."""
    after_tables: list[SqlFile]
    last: list[SqlFile]
    """Row security and grants, which are set on every object that exists."""

    def all(self) -> list[SqlFile]:
        """Every file."""
        return [*self.before_tables, *self.after_tables, *self.last]


def numbered_files(api_schema: str) -> list[SqlFile]:
    """The migrations, in order."""
    found = (_read(name, api_schema) for name in _sql_files_in("migrations"))
    return [SqlFile(each.name.removeprefix("migrations/"), each.sql, each.checksum) for each in found]


def repeatable_files(api_schema: str) -> RepeatableFiles:
    """Functions, views, row security and grants."""
    lines = (line.strip() for line in (sql_root() / "apply-order.txt").read_text(encoding="utf-8").splitlines())
    order = [line for line in lines if line and not line.startswith("#")]
    found = [name for folder in ("functions", "security", "views") for name in _sql_files_in(folder)]
    tables, others = order.index("migrations"), order.index("*")
    unnamed = [name for name in found if name not in order]

    def read(names: list[str]) -> list[SqlFile]:
        return [_read(name, api_schema) for name in names]

    return RepeatableFiles(
        read(order[:tables]), read([*order[tables + 1 : others], *unnamed]), read(order[others + 1 :])
    )


def setup_file(part: str, api_schema: str) -> str:
    """The file that runs before all others, or after them: roles, schemas, and the right to create objects in them."""
    return _read(f"setup/{part}.sql", api_schema).sql


def _sql_files_in(folder: str) -> list[str]:
    """The SQL files of a folder, in the same order on every machine."""
    root = sql_root()
    return sorted(path.relative_to(root).as_posix() for path in (root / folder).rglob("*.sql"))


def _read(name: str, api_schema: str) -> SqlFile:
    data = (sql_root() / name).read_bytes()
    text = data.decode().replace(':"api_schema"', identifier(api_schema)).replace(":'api_schema'", literal(api_schema))
    return SqlFile(name, text, hashlib.sha256(data).hexdigest())


def identifier(name: str) -> str:
    """A quoted identifier."""
    return '"{}"'.format(name.replace('"', '""'))


def literal(text: str) -> str:
    """A quoted text."""
    return "'{}'".format(text.replace("'", "''"))
