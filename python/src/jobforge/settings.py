"""Settings from the environment, strict: an unknown name or a wrong value is an error that names the variable."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from .artifacts.open_store import open_store
from .errors import InvalidArgumentError
from .suggest import suggest

PREFIX: Final = "JOBFORGE_"


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _pool_mode(text: str) -> str:
    if text not in ("session", "transaction"):
        raise ValueError(text)
    return text


def _store(text: str) -> str:
    open_store(text)
    return text


_READERS: Final[Mapping[str, tuple[Callable[[str], Any], str]]] = {
    "database_url": (str, "a URL such as postgresql://user:password@host:5432/database"),
    "url": (str, "the URL of a JobForge server"),
    "token": (str, "a JWT or a key of the server"),
    "api_key": (str, "a text"),
    "schema": (str, "the name of the API schema"),
    "timeout": (_seconds, "a number of seconds"),
    "pool_mode": (_pool_mode, "session or transaction"),
    "max_connections": (_count, "a whole number from 1 on"),
    "artifacts": (_store, "file:PATH or s3://BUCKET/PREFIX"),
}
"""Each setting, how it is read, and what it must be. `jobforge.pydantic` is made from the same table."""

_OTHERS: Final = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "APP_VERSION",
        "EGRESS",
        "EGRESS_POLICY",
        "EMBEDDED_HOME",
        "ENV",
        "JWKS_URL",
        "JWT_SECRET",
        "METRICS_SECRET",
        "PYTHON",
        "SECRETS_FILE",
        "TENANT",
        "TICK_SECRET",
        "WATCHED",
    )
)
"""Variables with this prefix that other parts of JobForge read: servers, connectors, the command line, the tests."""
_OTHER_PREFIXES: Final = tuple(
    f"{PREFIX}{name}_" for name in ("BENCH", "REQUIRE", "SECRET", "SKIP", "TEST", "WEBHOOK", "WORKER")
)
_ALIASES: Final = {"JOBFORGE_API_SCHEMA": "schema"}
"""The command of the npm package has this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to reach JobForge. `JOBFORGE_` and the name in upper case is the variable of each."""

    database_url: str | None = None
    """JOBFORGE_DATABASE_URL, or DATABASE_URL if there is neither this nor JOBFORGE_URL."""
    url: str | None = None
    token: str | None = None
    api_key: str | None = None
    schema: str | None = None
    timeout: float | None = None
    pool_mode: str | None = None
    max_connections: int | None = None
    artifacts: str | None = None
    """The address of the artifact store, as `open_store` takes it."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Reads the environment, or another mapping."""
        found = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        for variable, text in found.items():
            if variable.startswith(PREFIX) and variable not in _OTHERS and not variable.startswith(_OTHER_PREFIXES):
                name = _ALIASES.get(variable, variable.removeprefix(PREFIX).lower())
                values[name] = _read(variable, name, text)
        if "database_url" not in values and "url" not in values and found.get("DATABASE_URL"):
            values["database_url"] = found["DATABASE_URL"]
        _check_one(values)
        return cls(**values)

    def arguments(self) -> dict[str, Any]:
        """The arguments of `JobForge` and `AsyncJobForge`."""
        given = {
            "database": self.database_url,
            "url": self.url,
            "token": self.token,
            "api_key": self.api_key,
            "schema": self.schema,
            "timeout": self.timeout,
            "pool_mode": self.pool_mode,
            "max_connections": self.max_connections,
            "artifacts": None if self.artifacts is None else open_store(self.artifacts),
        }
        return {name: value for name, value in given.items() if value is not None}


def _read(variable: str, name: str, text: str) -> Any:
    if name not in _READERS:
        hint = suggest(variable, [f"{PREFIX}{each.upper()}" for each in _READERS])
        raise InvalidArgumentError(f"{variable} is not a known setting", field=variable, hint=hint)
    read, expected = _READERS[name]
    if text.strip() == "":
        raise InvalidArgumentError(f"{variable} is empty", field=variable, hint=f"It must be {expected}.")
    try:
        return read(text)
    except ValueError:
        # Without the value: it may be a secret that was set under the wrong name.
        raise InvalidArgumentError(f"{variable} must be {expected}", field=variable) from None


def _check_one(values: Mapping[str, Any]) -> None:
    if "database_url" in values and "url" in values:
        message = "JOBFORGE_DATABASE_URL and JOBFORGE_URL are both set"
        raise InvalidArgumentError(message, field="JOBFORGE_URL", hint="Set one of them.")
    if "database_url" not in values and "url" not in values:
        raise InvalidArgumentError(
            "Neither a database nor a server is set",
            field="DATABASE_URL",
            hint="Set DATABASE_URL, or JOBFORGE_URL and JOBFORGE_TOKEN.",
        )
    if "url" in values and "token" not in values:
        raise InvalidArgumentError("JOBFORGE_TOKEN is not set", field="JOBFORGE_TOKEN", hint="JOBFORGE_URL needs it.")
