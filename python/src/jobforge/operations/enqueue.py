"""Enqueueing one job, and many jobs in few calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..arguments import describe, refuse
from ..definition import NewJob
from ..errors import JobForgeError
from ..jsontext import JsonText
from ..records import Job
from ..words import UNSET, EnqueueOutcome
from .call import Call, whole
from .prepare import PreparedJob, prepare_job

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_JOBS: Final = 5000
# Servers accept requests of 8 MiB. Names, commas and the other arguments count as well.
_MAX_BYTES: Final = 7 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What an enqueue returned."""

    id: str
    outcome: EnqueueOutcome
    job: Job | None
    """The job as it was then; None if it is gone because its type keeps no history."""
    run_at: datetime | None


def enqueue(job: PreparedJob, *, notify: bool, hand_off: bool) -> Call[Enqueued]:
    """Enqueues one job. Without `notify`, the caller wakes the workers itself.

    With `hand_off`, the job may start at once as a run of an idle worker: for calls that are committed at once.
    """
    return Call(
        "jobforge_enqueue_job",
        {**job.arguments(), "p_notify": UNSET if notify else False, "p_hand_off": True if hand_off else UNSET},
        _read_enqueued,
    )


def enqueue_each(jobs: Sequence[PreparedJob], *, notify: bool) -> Call[list[Enqueued | None]]:
    """Enqueues jobs of any tenants, each for itself; None for a job that was rejected."""

    def read(rows: Sequence[Mapping[str, Any]]) -> list[Enqueued | None]:
        return [None if row["outcome"] == "rejected" else _read_enqueued(row) for row in rows]

    args = {
        "p_tenant_ids": [job.tenant for job in jobs],
        "p_jobs": JsonText(f"[{','.join(job.json() for job in jobs)}]"),
        "p_notify": UNSET if notify else False,
    }
    return Call("jobforge_enqueue_each", args, read)


def due_of(job: PreparedJob, found: Enqueued) -> datetime | None:
    """When an enqueued job is due; None: now."""
    return found.run_at if "run_at" in job.keys or "delay_ms" in job.keys else None


def _read_enqueued(row: Mapping[str, Any]) -> Enqueued:
    job = None if row.get("status") is None else Job.from_row(row)
    return Enqueued(row["id"], row["outcome"], job, job.run_at if job is not None else None)


def prepare_jobs(jobs: object, shared: Mapping[str, object]) -> list[PreparedJob]:
    """Checks all jobs before the first is sent. The error of the first mistake names its job: `jobs[3].payload`."""
    if isinstance(jobs, (str, bytes)) or not isinstance(jobs, Sequence):
        refuse("jobs", f"must be a list, not {describe(jobs)}", "Pass [definition.new(input), …].")
    return [prepare_job(_checked(each, index), shared, f"jobs[{index}].") for index, each in enumerate(jobs)]


def prepare_next(job: object, index: int, shared: Mapping[str, object]) -> PreparedJob:
    """Checks a job of a stream. The error names its place in it."""
    return prepare_job(_checked(job, index), shared, f"jobs[{index}].")


def _checked(each: object, index: int) -> NewJob[Any]:
    if not isinstance(each, NewJob):
        refuse(f"jobs[{index}]", f"must be a new job, not {describe(each)}", "Pass definition.new(input).")
    return each


@dataclass(slots=True)
class Chunk:
    """The jobs of one call. The kernel requires one tenant per call."""

    tenant: str
    texts: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    """The index of each job in the caller's list."""
    size: int = 0

    def call(self, *, partial: bool) -> Call[list[dict[str, Any]]]:
        """Enqueues the jobs. With `partial`, those for which quotas have no room are rejected."""
        args = {
            "p_tenant_id": self.tenant,
            "p_jobs": JsonText(f"[{','.join(self.texts)}]"),
            "p_partial": True if partial else UNSET,
        }
        return Call("jobforge_enqueue_jobs", args, whole)

    def renumber(self, error: JobForgeError) -> JobForgeError:
        """The error with the job's index in the caller's list instead of its index in the call."""
        found = re.match(r"jobs\[(\d+)\]", error.field or "")
        if found is not None and int(found[1]) < len(self.places):
            place = self.places[int(found[1])]
            error.field = f"jobs[{place}]{(error.field or '')[found.end() :]}"
            error.message = re.sub(r"jobs\[\d+\]", f"jobs[{place}]", error.message, count=1)
            error.message = re.sub(r"\bjob \d+", f"job {place}", error.message, count=1)
        return error


def cut(jobs: Sequence[PreparedJob], first: int = 0) -> list[Chunk]:
    """Splits jobs into calls, by tenant, number and size. `first` is the place of the first job in a stream."""
    chunks: list[Chunk] = []
    last: dict[str, Chunk] = {}
    for place, job in enumerate(jobs, first):
        text = job.json()
        size = len(text.encode())
        chunk = last.get(job.tenant)
        if chunk is None or len(chunk.texts) == MAX_JOBS or chunk.size + size > _MAX_BYTES:
            chunk = last[job.tenant] = Chunk(job.tenant)
            chunks.append(chunk)
        chunk.texts.append(text)
        chunk.places.append(place)
        chunk.size += size
    return chunks
