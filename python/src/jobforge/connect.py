"""Chooses a transport from the options of a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .arguments import check_text, refuse
from .transport.driver import PoolMode, PostgresOptions, require_psycopg
from .transport.http import HttpTransport
from .transport.http_messages import HttpOptions, Token
from .transport.httpx import AsyncHttpxTransport, HttpxTransport, is_asynchronous
from .transport.threaded import ThreadedHttpTransport
from .words import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from .transport.base import AsyncTransport, Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeOptions:
    """How a client reaches the kernel."""

    database: str | None = None
    url: str | None = None
    token: Token | None = None
    api_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    client: Any = None
    schema: str = "public"
    timeout: float | None = DEFAULT_TIMEOUT
    pool_mode: PoolMode = "session"
    max_connections: int = 10
    name_tenant: bool = True

    def http(self) -> HttpOptions | None:
        """The options of HTTP; None if this is a database."""
        if (self.database is None) == (self.url is None):
            which = "both" if self.url is not None else "none"
            hint = 'Pass JobForge("postgresql://…"), or JobForge(url="https://…", token="…").'
            refuse("database", f"or url must be given, not {which}", hint)
        if self.url is None:
            if self.client is not None:
                refuse("client", "is for HTTP only", "Pass url and token with it.")
            return None
        if self.token is None or self.token == "":
            refuse("token", "is required with url", "Pass a JWT, a key of the server, or a function that returns one.")
        return HttpOptions(
            url=self.url,
            token=self.token,
            api_key=self.api_key,
            headers=self.headers,
            schema=check_text(self.schema, "schema"),
            timeout=self.timeout,
        )

    def postgres(self) -> PostgresOptions:
        """The options of Postgres."""
        require_psycopg()
        return PostgresOptions(
            database=self.database or "",
            pool_mode=self.pool_mode,
            max_connections=self.max_connections,
            schema=check_text(self.schema, "schema"),
            timeout=self.timeout,
            name_tenant=self.name_tenant,
        )


def transport_of(options: ForgeOptions) -> Transport:
    """The blocking transport."""
    http = options.http()
    if http is not None:
        if options.client is None:
            return HttpTransport(http)
        if is_asynchronous(options.client):
            refuse("client", "must be a Client", "A blocking JobForge cannot use an AsyncClient.")
        return HttpxTransport(http, options.client)
    postgres = options.postgres()
    from .transport.postgres import PostgresTransport

    return PostgresTransport(postgres)


def async_transport_of(options: ForgeOptions) -> AsyncTransport:
    """The asynchronous transport."""
    http = options.http()
    if http is not None:
        if options.client is None:
            return ThreadedHttpTransport(HttpTransport(http))
        if is_asynchronous(options.client):
            return AsyncHttpxTransport(http, options.client)
        return ThreadedHttpTransport(HttpxTransport(http, options.client))
    postgres = options.postgres()
    from .transport.async_postgres import AsyncPostgresTransport

    return AsyncPostgresTransport(postgres)
