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

from ..errors import InvalidArgumentError
from ..settings import Settings
from ..tenant_id import tenant_id

_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say how to reach JobForge. Without them, the environment says it."""
    group = parser.add_argument_group("connection", "Default: DATABASE_URL, or JOBFORGE_URL and JOBFORGE_TOKEN.")
    group.add_argument("--database-url", metavar="URL", help="the database")
    group.add_argument("--url", help="a JobForge server")
    group.add_argument("--token", help="the token for the server; better set JOBFORGE_TOKEN, which no one else can see")


def connection_arguments(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of a client."""
    if given.database_url is None and given.url is None:
        return Settings.from_env().arguments()
    environment = {name: value for name, value in os.environ.items() if name == "JOBFORGE_TOKEN"}
    if given.database_url is not None:
        return {"database": given.database_url}
    return {"url": given.url, "token": given.token or environment.get("JOBFORGE_TOKEN")}


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
