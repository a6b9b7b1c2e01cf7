"""What both gatherers share: which calls go into one statement, and which of them are sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import ConnectionError, JobForgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..operations.prepare import PreparedJob

LANES: Final = 2
"""Two statements at once use two cores of the server, and larger batches are cheaper than more statements."""
SLOW: Final = 0.1
"""A statement that takes longer, such as one that waits for a key, no longer occupies its lane. In seconds."""
_MAX_JOBS: Final = 500
_MAX_BYTES: Final = 1 << 20


def fitting(jobs: Sequence[PreparedJob]) -> int:
    """How many of the jobs go into one statement."""
    size = count = 0
    for job in jobs:
        size += len(job.payload.text)
        if count and (count == _MAX_JOBS or size > _MAX_BYTES):
            break
        count += 1
    return count


def notifies(jobs: Sequence[PreparedJob], leads: Callable[[str], bool]) -> bool:
    """Whether the statement of these jobs itself notifies."""
    # Every type is asked: each remembers that it was notified.
    leading = [type for type in dict.fromkeys(job.definition.type for job in jobs) if leads(type)]
    return bool(leading)


def goes_alone(error: Exception) -> bool:
    """Whether the jobs of a statement that failed can be sent once more, each for itself.

    If the connection was lost, it is unknown whether the jobs exist.
    """
    return isinstance(error, JobForgeError) and not isinstance(error, ConnectionError)
