"""What several commands share: how to reach JobForge, and values of options."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..arguments import refuse
from ..errors import InvalidArgumentError
from ..settings import Settings
from ..tenant_id import tenant_id

# The variables that say where JobForge is.
_PLACES: Final = ("JOBFORGE_DATABASE_URL", "DATABASE_URL", "JOBFORGE_URL")
_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say how to reach JobForge. Without them, the environment says it."""
    group = parser.add_argument_group("connection", "Default: DATABASE_URL, or JOBFORGE_URL and JOBFORGE_TOKEN.")
    group.add_argument("--database-url", metavar="URL", help="the database (default: DATABASE_URL)")
    group.add_argument(
        "--api-schema",
        metavar="NAME",
        help="the schema of JobForge's functions (default: JOBFORGE_API_SCHEMA, else public)",
    )
    group.add_argument("--url", help="a JobForge server (default: JOBFORGE_URL)")
    group.add_argument("--token", help="the token for the server; better set JOBFORGE_TOKEN, which no one else can see")


def connection_arguments(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of a client. An option replaces its variable, and all other variables count as well."""
    if given.database_url is not None and given.url is not None:
        refuse("--database-url", "and --url exclude each other", "Pass one of them.")
    options = {
        "JOBFORGE_DATABASE_URL": given.database_url,
        "JOBFORGE_API_SCHEMA": given.api_schema,
        "JOBFORGE_URL": given.url,
        "JOBFORGE_TOKEN": given.token,
    }
    environment = dict(os.environ)
    if given.database_url is not None or given.url is not None:
        for name in _PLACES:
            environment.pop(name, None)
    if given.api_schema is not None:
        environment.pop("JOBFORGE_SCHEMA", None)
    environment.update({name: text for name, text in options.items() if text is not None})
    # An empty text is a variable of the shell that is not set.
    if not any(environment.get(name, "").strip() for name in _PLACES):
        raise InvalidArgumentError(
            "No database is given.",
            field="--database-url",
            hint="Pass --database-url, or set DATABASE_URL. For a server, pass --url, and set JOBFORGE_TOKEN.",
        )
    return Settings.from_env(environment).arguments()


def database_url(given: argparse.Namespace) -> str:
    """The database of a command that needs one itself, and not a server."""
    variables = (os.environ.get(name) for name in ("JOBFORGE_DATABASE_URL", "DATABASE_URL"))
    found = given.database_url if given.database_url is not None else next(filter(None, variables), None)
    if not found:
        raise InvalidArgumentError(
            "No database is given.", field="--database-url", hint="Pass --database-url, or set DATABASE_URL."
        )
    return str(found)


def span(text: str) -> float:
    """A time span such as 90s, 15m, 2h or 7d, in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?", text)
    if found is None:
        raise argparse.ArgumentTypeError("must be a time span such as 90s, 15m, 2h or 7d")
    return float(found[1]) * _UNITS[found[2] or "s"]


def count(text: str) -> int:
    """A whole number from 1 on."""
    if re.fullmatch(r"0*[1-9]\d*", text) is None:
        raise argparse.ArgumentTypeError("must be a whole number from 1 on")
    return int(text)


def moment(text: str) -> datetime:
    """A time such as 2026-01-31T12:00:00Z."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a time such as 2026-01-31T12:00:00Z") from None
    return found if found.utcoffset() is not None else found.replace(tzinfo=UTC)


def tenant(text: str) -> str:
    """A tenant: a UUID, or an id that the application uses."""
    try:
        return tenant_id(text)
    except InvalidArgumentError as error:
        raise argparse.ArgumentTypeError(error.message) from None


def payload(text: str) -> Any:
    """A JSON payload: the text itself, `@file`, or `-` for the standard input."""
    try:
        if text == "-":
            return json.loads(sys.stdin.read())
        if text.startswith("@"):
            return json.loads(Path(text[1:]).read_text(encoding="utf-8"))
        return json.loads(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"is not JSON: {error}") from None
