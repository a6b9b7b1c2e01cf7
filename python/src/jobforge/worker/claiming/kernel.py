"""The database functions that a worker calls. Each call has a timeout: a stalled network must not stop the worker."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from ...fast import loads
from ...jsontext import JsonText, to_storable_json
from ...words import UNSET
from ..defaults import CALL_TIMEOUT, SETTLE_TIMEOUT
from ..running.connection_budget import ConnectionBudget, connection_budget_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...transport.base import AsyncTransport, Transport
    from ..handled_type import HandledType
    from ..presence.clock import DatabaseClock
    from ..running.run import Run
    from .protocol import ClaimedJob, ClaimRequest, HeartbeatResponse, SettleResponse

# `jobforge_settle_jobs` with its response as JSON text: building a jsonb of hundreds of jobs costs an eighth of the
# call.
_SETTLE: Final = "jobforge_settle_jobs_text"


@dataclass(frozen=True, slots=True)
class Heard:
    """The response to a heartbeat, with the times of the call for the clock."""

    response: HeartbeatResponse
    called_at: float
    received_at: float


class Kernel:
    def __init__(
        self,
        transport: AsyncTransport,
        clock: DatabaseClock,
        types: Sequence[HandledType],
        *,
        worker_id: str,
        tenant: str | None,
    ) -> None:
        self.transport = transport
        self.clock = clock
        # Limits how many connections handlers' transactions take.
        self.connections: ConnectionBudget = connection_budget_of(transport)
        self.worker_id = worker_id
        # The names of the handled types.
        self.types = tuple(type.name for type in types)
        self._tenant = UNSET if tenant is None else tenant
        self._lock = Lock()
        self._heartbeat_transport: Transport | None = None
        self._blocking: Transport | None = None

    async def settle(
        self, ends: Sequence[str], request: ClaimRequest | None = None, hint: Any = None
    ) -> SettleResponse:
        """Settles runs, whose ends are given as JSON, and claims jobs if a request is given: in one commit."""
        args = {
            "p_worker_id": self.worker_id,
            "p_results": JsonText(f"[{','.join(ends)}]"),
            "p_claim_limit": 0 if request is None else request.limit,
            # Without types, a call that claims nothing does not look for the next job either.
            "p_types": [] if request is None else request.types,
            "p_tenant_id": self._tenant,
            "p_hint": UNSET if hint is None else hint,
        }
        called_at = self.clock.mark()
        response = cast("SettleResponse", _parsed(await self.transport.call(_SETTLE, args, timeout=SETTLE_TIMEOUT)))
        self.clock.learn(response["now"], called_at)
        return response

    async def settle_in(self, transaction: AsyncTransport, end: str) -> SettleResponse:
        """Settles one run inside a transaction."""
        text = await transaction.call(_SETTLE, self._settle_args(end), timeout=SETTLE_TIMEOUT)
        return cast("SettleResponse", _parsed(text))

    def settle_in_sync(self, transaction: Transport, end: str) -> SettleResponse:
        """The same in a thread."""
        return cast(
            "SettleResponse",
            _parsed(transaction.call(_SETTLE, self._settle_args(end), timeout=SETTLE_TIMEOUT)),
        )

    async def receive(self, ids: Sequence[str]) -> list[ClaimedJob]:
        """The jobs with these ids that were handed to this worker."""
        args = {"p_worker_id": self.worker_id, "p_ids": ids}
        text = await self.transport.call("jobforge_receive_jobs", args, timeout=CALL_TIMEOUT)
        return cast("list[ClaimedJob]", _parsed(text))

    def heartbeat(self, info: Mapping[str, Any]) -> Heard:
        """Beats, over a connection of its own. Only the heartbeat's thread calls this."""
        if self._heartbeat_transport is None:
            self._heartbeat_transport = self.transport.blocking()
        args = {"p_worker_id": self.worker_id, "p_info": info}
        called_at = self.clock.mark()
        text = self._heartbeat_transport.call("jobforge_heartbeat_worker", args, timeout=CALL_TIMEOUT)
        received_at = self.clock.mark()
        return Heard(cast("HeartbeatResponse", _parsed(text)), called_at, received_at)

    def close_heartbeat(self) -> None:
        """Closes the connection of the heartbeats."""
        transport, self._heartbeat_transport = self._heartbeat_transport, None
        if transport is not None:
            transport.close()

    def learn(self, heard: Heard) -> None:
        """Learns the database's time from a heartbeat."""
        self.clock.learn(heard.response["now"], heard.called_at, heard.received_at)

    async def progress(self, run: Run, value: object) -> bool:
        """Stores the progress of a run. Returns whether the job was canceled."""
        args = {
            "p_job_id": run.id,
            "p_worker_id": self.worker_id,
            "p_progress": to_storable_json(value, "progress"),
            "p_attempt": run.attempt,
        }
        response = _parsed(await self.transport.call("jobforge_progress_job", args, timeout=CALL_TIMEOUT))
        return bool(response["cancel_requested"])

    async def hold_key(self, run: Run, until: str, reason: str | None) -> None:
        """Lets no other job with the concurrency key of the job start before a time."""
        args = {
            "p_job_id": run.id,
            "p_worker_id": self.worker_id,
            "p_until": until,
            "p_attempt": run.attempt,
            "p_reason": UNSET if reason is None else reason,
        }
        await self.transport.call("jobforge_hold_key", args, timeout=CALL_TIMEOUT)

    async def policy(self, type: str) -> Mapping[str, Any]:
        text = await self.transport.call("jobforge_get_policy", {"p_type": type}, timeout=CALL_TIMEOUT)
        return cast("Mapping[str, Any]", _parsed(text))

    def blocking(self) -> Transport:
        """A blocking transport for handlers in threads, which share it. Created on demand."""
        with self._lock:
            if self._blocking is None:
                self._blocking = self.transport.blocking()
            return self._blocking

    def close(self) -> None:
        """Drops what was opened in addition to the worker's transport."""
        with self._lock:
            blocking, self._blocking = self._blocking, None
        if blocking is not None:
            blocking.abandon()

    def _settle_args(self, end: str) -> dict[str, object]:
        return {"p_worker_id": self.worker_id, "p_results": JsonText(f"[{end}]"), "p_types": []}


def _parsed(text: str | None) -> Any:
    return None if text is None else loads(text)
