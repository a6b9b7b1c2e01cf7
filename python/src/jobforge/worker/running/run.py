"""One run: a job in one attempt, from its claim until the database has confirmed its end.

Its state changes only through the methods of this class:

- `waiting` -> `running`: its handler is called (`start`).
- `running` -> `ending`: its end is known and on its way to the database (`begin_ending`).
- `waiting` -> `ending`: it is handed back before it started (`begin_ending`).
- `ending` -> `running`: the transaction that should have ended it was rolled back (`continue_running`).
- any state -> `ended`: the database has confirmed the end, or the lease is lost (`close`).
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import asyncio

    from ...errors import JobAborted
    from ...workflows.builder import AddedSteps
    from ..claiming.protocol import ClaimedJob, RunError, Verdict
    from ..handled_type import HandledType
    from ..reporting.kept_log import KeptLog
    from ..reporting.trace import RunTrace

RunState = Literal["waiting", "running", "ending", "ended"]


class Run:
    __slots__ = (
        "_ended_at",
        "abort_waiters",
        "aborted",
        "added",
        "attempt",
        "children",
        "claimed_at",
        "cost_cents",
        "end",
        "end_json",
        "id",
        "is_handed",
        "job",
        "kept_log",
        "next_run_at",
        "refused",
        "result",
        "started_at",
        "state",
        "trace",
        "type",
        "verdict",
    )

    def __init__(self, job: ClaimedJob, type: HandledType, claimed_at: float, *, is_handed: bool = False) -> None:
        self.job = job
        self.id: str = job["id"]
        self.attempt: int = job["attempts"]
        self.type = type
        # A time of monotonic(), like `started_at`.
        self.claimed_at = claimed_at
        # Whether an enqueue has handed the job to this worker.
        self.is_handed = is_handed
        self.started_at = 0.0
        self.state: RunState = "waiting"
        # How it ended, once that is known, and the same as JSON.
        self.end: Verdict | None = None
        self.end_json = ""
        # What `defer()`, `fail()` or `retry_after()` asked for.
        self.verdict: Verdict | None = None
        self.cost_cents: int | None = None
        # What the handler has logged, if it may be kept with the attempt.
        self.kept_log: KeptLog | None = None
        # The next time of the schedule, as the handler set it.
        self.next_run_at: str | None = None
        # Children to enqueue on success, as JSON.
        self.children: list[str] | None = None
        # Steps to add to the workflow on success, and whether only the workflow waits for them.
        self.added: tuple[AddedSteps, bool] | None = None
        # Why a child was refused. A handler that lets this error pass fails without retries.
        self.refused: Exception | None = None
        self.trace: RunTrace | None = None
        # The reason of the abort, if there was one.
        self.aborted: JobAborted | None = None
        # What waits for an abort. Created on demand, because most handlers do not wait for it.
        self.abort_waiters: list[asyncio.Future[None]] | None = None
        # The result that the handler has set before it returns.
        self.result: Any = None
        self._ended_at = 0.0

    @property
    def ends_quietly(self) -> bool:
        """Whether its end makes no other job ready.

        Nothing has restrained jobs of its type when it was handed over, and its handler has added none.
        """
        end = self.end
        return (
            self.is_handed
            and end is not None
            and end["status"] == "succeeded"
            and "children" not in end
            and "steps" not in end
        )

    @property
    def error(self) -> RunError | None:
        """The error of the run's end, if it has one."""
        return None if self.end is None else self.end.get("error")

    def start(self, now: float) -> None:
        """The handler is about to be called. A run that was lost while it waited stays `ended`."""
        self.started_at = now
        if self.state == "waiting":
            self.state = "running"

    def begin_ending(self) -> None:
        """The end of the run is on its way to the database."""
        self.state = "ending"

    def continue_running(self) -> None:
        """The transaction with the run's end was rolled back."""
        if self.state == "ending":
            self.state = "running"

    def close(self) -> None:
        """The database has confirmed the run's end, or the run is no longer this worker's."""
        self.state = "ended"

    def stop_clock(self) -> None:
        """The handler's time stops."""
        self._ended_at = monotonic()

    @property
    def duration_ms(self) -> int:
        """Milliseconds that the handler took, or has taken so far."""
        if self.started_at == 0:
            return 0
        return round(((self._ended_at or monotonic()) - self.started_at) * 1000)

    def abort(self, reason: JobAborted) -> bool:
        """Notes the reason of an abort. Returns whether the handler must still be notified.

        A lost lease replaces any other reason, because writes are no longer possible. A handler that waits for the
        abort is notified by that.
        """
        is_first = self.aborted is None
        if is_first or reason.kind == "lost":
            self.aborted = reason
        waiters, self.abort_waiters = self.abort_waiters, None
        for waiter in waiters or ():
            if not waiter.done():
                waiter.set_result(None)
        return is_first and not waiters
