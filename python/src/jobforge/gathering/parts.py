"""What both gatherers share: which calls go into one statement, and the call of the kernel for each tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import ConnectionError, JobForgeError
from ..operations.enqueue import enqueue_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..operations.call import Call
    from ..operations.enqueue import Enqueued
    from ..operations.prepare import PreparedJob

LANES: Final = 2
"""Two statements at once use two cores of the server, and larger batches are cheaper than more statements."""
SLOW: Final = 0.1
"""A statement that takes longer, such as one that waits for a key, no longer occupies its lane. In seconds."""
MAX_TENANTS: Final = 50
"""Each tenant is a part of its own of the statement."""
_MAX_JOBS: Final = 500
_MAX_BYTES: Final = 1 << 20


@dataclass(slots=True)
class Part:
    """The jobs of one tenant: the kernel requires one tenant for each of its functions."""

    places: list[int]
    """The indexes of the jobs in the statement."""
    notifies: bool
    """Whether the statement itself notifies."""
    call: Call[list[Enqueued | None]]


def fitting(jobs: Sequence[PreparedJob], most_tenants: int) -> int:
    """How many of the jobs go into one statement."""
    tenants: set[str] = set()
    size = count = 0
    for job in jobs:
        tenants.add(job.tenant)
        size += len(job.payload.text)
        if count and (count == _MAX_JOBS or len(tenants) > most_tenants or size > _MAX_BYTES):
            break
        count += 1
    return count


def parts_of(jobs: Sequence[PreparedJob], leads: Callable[[str], bool]) -> list[Part]:
    """The jobs by tenant, sorted, so that two statements take keys in the same order."""
    by_tenant: dict[str, list[int]] = {}
    for place, job in enumerate(jobs):
        by_tenant.setdefault(job.tenant, []).append(place)
    parts = []
    for tenant, places in sorted(by_tenant.items()):
        own = [jobs[place] for place in places]
        # Every type is asked: each remembers that it was notified.
        leading = [type for type in dict.fromkeys(job.definition.type for job in own) if leads(type)]
        parts.append(Part(places, bool(leading), enqueue_each(tenant, own, notify=bool(leading))))
    return parts


def goes_alone(error: Exception) -> bool:
    """Whether the jobs of a statement that failed can be sent once more, each for itself.

    If the connection was lost, it is unknown whether the jobs exist.
    """
    return isinstance(error, JobForgeError) and not isinstance(error, ConnectionError)
