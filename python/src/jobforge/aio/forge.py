"""The client that an application creates: over Postgres or HTTP, with the transactions of the application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ..arguments import check_bool, check_timeout
from ..connect import ForgeOptions, async_transport_of
from ..gathering.async_gatherer import AsyncGatherer
from ..settings import Settings
from ..signals import AsyncDoneSignals
from ..transport.foreign import async_foreign_transport
from ..transport.statement import Placeholder, Statements
from ..wake import AsyncWaker
from ..words import DEFAULT_TIMEOUT
from .client import AsyncClient, AsyncTransactionClient
from .runner import AsyncRunner

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from ..arguments import Duration
    from ..artifacts.forms import AsyncAnyStore
    from ..transport.base import AsyncTransport
    from ..transport.driver import PoolMode
    from ..transport.http_messages import Token


class AsyncJobForge(AsyncClient):
    """The client. Create one per process and close it at the end: `async with AsyncJobForge(…) as forge`.

    The first call opens the connections.
    """

    def __init__(
        self,
        database: str | None = None,
        *,
        url: str | None = None,
        token: Token | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        client: Any = None,
        schema: str = "public",
        timeout: Duration | None = DEFAULT_TIMEOUT,
        pool_mode: PoolMode = "session",
        max_connections: int = 10,
        name_tenant: bool = True,
        artifacts: AsyncAnyStore | None = None,
        gather: bool = True,
        transport: AsyncTransport | None = None,
    ) -> None:
        """Over Postgres with `database`, a URL; over HTTP with `url` and `token`.

        - `token`: a JWT or a key of the server, or a function that returns one.
        - `api_key`: sent as the header `apikey`, which Supabase requires.
        - `client`: a client of httpx2 for calls over HTTP, with your own proxies and certificates. It stays open.
        - `schema`: the API schema that was chosen at migration.
        - `timeout`: how long a call may take, in seconds. None: no limit.
        - `pool_mode`: `transaction` for a pooler in transaction mode; waiting uses polling only then.
        - `artifacts`: where large contents are kept, such as `open_store(…)` of `jobforge.artifacts`.
        - `gather`: False sends each `enqueue` as a statement of its own, instead of together with others that are made
          at the same time.
        - `name_tenant`: False leaves the setting `app.tenant_id` alone.
        """
        self._options = ForgeOptions(
            database=database,
            url=url,
            token=token,
            api_key=api_key,
            headers=headers or {},
            client=client,
            schema=schema,
            timeout=check_timeout(timeout),
            pool_mode=pool_mode,
            max_connections=max_connections,
            name_tenant=name_tenant,
        )
        made = transport or async_transport_of(self._options)
        waker = AsyncWaker(made)
        # A call in a transaction of the caller must be sent at once, and its error must not concern other calls.
        gathers = check_bool(gather, "gather") and not made.is_transaction
        gatherer = AsyncGatherer(AsyncRunner(made), waker) if gathers else None
        super().__init__(made, AsyncDoneSignals(made), waker=waker, gatherer=gatherer, artifacts=artifacts)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """The client that the environment describes: DATABASE_URL, or JOBFORGE_URL and JOBFORGE_TOKEN."""
        return cls(**Settings.from_env(environment).arguments())

    def on(self, connection: Any) -> AsyncTransactionClient:
        """A client whose calls run in your transaction: they are committed or rolled back with it.

        `connection` is one of the libraries in the guide about transactions. Handles from this client work outside the
        transaction, after its commit.
        """

        def statements(write: Placeholder) -> Statements:
            return Statements(self._options.schema, name_tenant=self._options.name_tenant, write=write)

        return AsyncTransactionClient(async_foreign_transport(connection, statements), self._signals, self)

    def within(self, timeout: Duration) -> AsyncClient:
        """The same client, except that each of its calls gives up after `timeout` seconds."""
        limit = check_timeout(timeout)
        store = self.artifacts.store
        return AsyncClient(self.transport, self._signals, waker=self._waker, root=self, timeout=limit, artifacts=store)

    async def close(self) -> None:
        """Closes what this client opened, after the enqueues that were made before."""
        if self._gatherer is not None:
            await self._gatherer.settled()
        if self._waker is not None:
            await self._waker.flush()
        await self._signals.close()
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
