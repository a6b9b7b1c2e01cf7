"""Reports to logs and hooks how runs ended, once the database has confirmed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..claiming.protocol import EndStatus, RunError, SettledRun
    from ..running.run import Run
    from .hooks import HookCaller
    from .log import Level, WorkerLog
    from .meter import Tally

_FAILURE_LINES: Final[dict[EndStatus, tuple[Level, str]]] = {
    "queued": ("warning", "Job failed and will be retried"),
    "failed": ("error", "Job failed and will not be retried"),
    "dead": ("error", "Job failed in its last attempt"),
    "canceled": ("info", "Job canceled"),
    "succeeded": ("info", "Job succeeded"),
}
_LINES: Final = {
    "deferred": "Job deferred",
    "released": "Job released",
    "suspended": "Job suspended until what it waits for has come",
}
# A failure ends the run of a schedule, but not the schedule, unless the schedule wants its runs to be retried.
_SCHEDULE_LINE: Final[tuple[Level, str]] = ("warning", "Run failed, and its schedule continues")
# The error of a success that the database turned into a failure. Its response does not say why.
_REFUSED_SUCCESS: Final[RunError] = {
    "name": "InvalidResult",
    "message": "The database refused the run's result or children; the job's error says why",
}


class Report:
    def __init__(self, log: WorkerLog, hooks: HookCaller, tally: Tally) -> None:
        self._log = log
        self._hooks = hooks
        self.tally = tally

    def claimed(self, jobs: int) -> None:
        self.tally.claimed += jobs

    def settled(self, run: Run, reply: SettledRun) -> None:
        """The database has accepted the run's end."""
        ended = None if run.end is None else run.end["status"]
        status = reply["status"]
        if status == "canceled":
            self.tally.canceled += 1
        if ended == "succeeded":
            self._succeeded(run, status or "succeeded")
        elif ended == "failed":
            self._failed(run, status or "queued")
        else:
            self._handed_back(run, status or "queued", ended or "released")

    def stale(self, run: Run) -> None:
        """The database has refused the run's end, or has taken the job away from this worker."""
        self.tally.stale += 1
        self._log.job("warning", run, None, "Job lost: its lease ran out or was taken; its result is dropped")
        self._hooks.stale(run)

    def _succeeded(self, run: Run, status: EndStatus) -> None:
        # The database turns a success into a failure when it cannot store the result.
        if status not in ("succeeded", "canceled"):
            run.end = {**(run.end or {}), "error": _REFUSED_SUCCESS}
            self._failed(run, status)
            return
        if status == "succeeded":
            self.tally.succeeded += 1
        self._log.job("info", run, None, "Job canceled" if status == "canceled" else "Job succeeded")
        self._hooks.succeeded(run, status)

    def _failed(self, run: Run, status: EndStatus) -> None:
        is_of_schedule = run.job.get("schedule_key") is not None and not run.job.get("retry_runs")
        continues = status == "failed" and is_of_schedule
        level, message = _SCHEDULE_LINE if continues else _FAILURE_LINES[status]
        if status == "queued" or continues:
            self.tally.retried += 1
        elif status != "canceled":
            self.tally.failed += 1
        self._log.failure(level, run, run.error, message)
        self._hooks.failed(run, status)

    def _handed_back(self, run: Run, status: EndStatus, ended: str) -> None:
        # A suspended run has deferred its job, too: until what it waits for has come.
        if ended in ("deferred", "suspended"):
            self.tally.deferred += 1
        else:
            self.tally.released += 1
        if status in ("dead", "failed"):
            self._failed(run, status)
            return
        if ended == "suspended":
            self._hooks.suspended(run, status, str((run.end or {}).get("wait", {}).get("name", "")))
        self._log.job("info", run, None, _LINES[ended])
