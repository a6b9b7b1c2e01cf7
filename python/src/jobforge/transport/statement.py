"""Calls as SQL.

Every parameter is a text or None and is cast in the statement, twice: to text, and to its type. So nothing depends on
how a driver converts values; asyncpg, for one, wants a datetime where a parameter is a timestamptz. Every result is one
JSON text. The session and its search path belong to the application, so every function, operator and type is written
with its schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from ..errors import InvalidArgumentError
from ..jsontext import JsonText, dumps
from ..losses import json_form
from ..words import UNSET
from .functions import ApiFunction, api_function

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Placeholder: TypeAlias = Callable[[int], str]
"""Writes the parameter with this number, from 1 on. Parameters occur in order, each once."""

NUMBERED: Final[Placeholder] = "${}".format
NAMED: Final[Placeholder] = ":p{}".format
FORMAT: Final[Placeholder] = lambda _: "%s"  # noqa: E731

# Types that are words of SQL. They always mean the system's, and have other names in its schema.
_SQL_TYPES: Final = re.compile(r"(boolean|integer|bigint|interval|numeric)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """One call."""

    text: str
    values: list[str | None]
    place: int = 0
    """The place of the column `result` in each row."""

    def result(self, rows: Sequence[Sequence[Any]]) -> str | None:
        return text_in(rows, self.place)


class Statements:
    """Writes calls for one API schema. Texts are written once for each set of arguments."""

    def __init__(self, schema: str = "public", *, name_tenant: bool = True, write: Placeholder = NUMBERED) -> None:
        """`name_tenant`: calls for a tenant also set `app.tenant_id` to it, unless the caller has set it."""
        self._schema = '"{}"'.format(schema.replace('"', '""'))
        self._name_tenant = name_tenant
        self._write = write
        self._texts: dict[tuple[str, ...], str] = {}

    def call(self, name: str, args: Mapping[str, object]) -> Statement:
        """The statement that calls a function. Its row has the column `result`; a result in parts has several rows."""
        called = api_function(name)
        given = [parameter for parameter, value in args.items() if value is not UNSET]
        values = [encode(args[parameter], _type_of(called, parameter), parameter) for parameter in given]
        tenant = _tenant_of(called, args) if self._name_tenant else None
        first = [] if tenant is None else [tenant]
        key = (name, *given, str(len(first)))
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = self._text(called, given, has_tenant=bool(first))
        return Statement(text, [*first, *values], len(first))

    def _text(self, called: ApiFunction, given: Sequence[str], *, has_tenant: bool) -> str:
        before = 1 + has_tenant
        named = (
            f"{parameter} => cast(cast({self._write(before + index)} as pg_catalog.text) as "
            f"{_type_name(called.parameters[parameter])})"
            for index, parameter in enumerate(given)
        )
        expression = _result(called, f"{self._schema}.{called.name}({', '.join(named)})")
        if not has_tenant:
            return f"select {expression} as result"
        # The setting holds while the expression is evaluated, and is restored afterwards. A tenant that the session or
        # transaction has set itself stays, as a guard. `offset 0` makes Postgres read it before it is changed.
        return (
            f"select {expression_with_tenant(self._write(1), expression)} "
            "from (select coalesce(pg_catalog.current_setting('app.tenant_id', true), '') as before offset 0) s"
        )


def _tenant_of(called: ApiFunction, args: Mapping[str, object]) -> str | None:
    """The tenant for which a call acts, or the tenants with commas between them. None for none."""
    named = args.get(called.tenant) if called.tenant is not None else None
    if isinstance(named, (list, tuple)):
        return ",".join(dict.fromkeys(map(str, named)))
    return str(named) if isinstance(named, (str, UUID)) and named else None


def expression_with_tenant(tenant: str, expression: str) -> str:
    """The columns of a statement that names its tenant. Their order is the order of evaluation."""
    return (
        "pg_catalog.set_config('app.tenant_id', case when s.before operator(pg_catalog.=) '' "
        f"then cast({tenant} as pg_catalog.text) else s.before end, true) as named, {expression} as result, "
        "pg_catalog.set_config('app.tenant_id', s.before, true) as restored"
    )


def _result(called: ApiFunction, call: str) -> str:
    if called.returns == "rows":
        return f"(select cast(coalesce(pg_catalog.json_agg(r), '[]') as pg_catalog.text) from {call} r)"
    # As JSON, a time has the same form as over HTTP, whatever the date style of the session is.
    if called.returns in ("timestamptz", "uuid"):
        return f"cast(pg_catalog.to_json({call}) as pg_catalog.text)"
    return f"cast({call} as pg_catalog.text)"


def _type_name(kind: str) -> str:
    return kind if _SQL_TYPES.match(kind) else f"pg_catalog.{kind}"


def _type_of(called: ApiFunction, parameter: str) -> str:
    kind = called.parameters.get(parameter)
    if kind is None:
        raise InvalidArgumentError(f"{called.name} has no parameter {parameter}", field=parameter)
    return kind


def encode(value: object, kind: str, parameter: str) -> str | None:
    """A value as the text that Postgres casts to its type."""
    if value is None:
        return None
    if isinstance(value, JsonText):
        return value.text
    if kind == "jsonb":
        return dumps(json_form(value, parameter))
    if kind.endswith("[]") and isinstance(value, (list, tuple)):
        return "{" + ",".join(_element(each) for each in value) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (str, int, float, UUID)):
        return str(value)
    raise InvalidArgumentError(f"{parameter} cannot be passed as {kind}", field=parameter)


def _element(value: object) -> str:
    if value is None:
        return "NULL"
    return '"' + re.sub(r'(["\\])', r"\\\1", str(value)) + '"'


def text_of(result: object) -> str | None:
    """The text of a result: None for no result, for null, and for the empty text of a void function."""
    return None if result is None or result in ("", "null") else str(result)


def text_in(rows: Sequence[Sequence[object]], place: int) -> str | None:
    """The text of a call's rows. A document that comes in parts has several."""
    if len(rows) > 1:
        return "".join(str(row[place]) for row in rows)
    return text_of(rows[0][place] if rows else None)
