"""A type that the worker handles: its handler, its cap, and what its policy adds."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..words import UNSET, Unset
from .defaults import TIMEOUT
from .reporting.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..definition import JobHandler

State = TypeVar("State")


class HandledType:
    """A handled type. Types are compared by identity."""

    __slots__ = (
        "_policy_timeout",
        "batch_size",
        "cap",
        "handler",
        "is_capped",
        "keep_logs",
        "name",
        "name_json",
        "redactor",
    )

    def __init__(self, handler: JobHandler[Any, Any], cap: int | None, concurrency: int) -> None:
        self.name = handler.definition.type
        # For log lines, which are written for every job.
        self.name_json = dumps(self.name)
        self.handler = handler
        # The number of jobs in one handler call, at most.
        self.batch_size = handler.batch_size
        # The number of handler calls at the same time, at most.
        self.cap = min(concurrency if cap is None else cap, concurrency)
        # Whether the cap is lower than the worker's concurrency.
        self.is_capped = self.cap < concurrency
        # Masks the keys that the definition lists, and those of the policy once it is known.
        self.redactor = Redactor(handler.definition.redact or ())
        self._policy_timeout: float | None = None
        # The runs whose logs are kept; None until the policy is known.
        self.keep_logs: str | None = None

    @property
    def timeout(self) -> float | None:
        """The shorter of the definition's and the policy's timeout, in seconds.

        After the policy's, the database gives the job away. If neither has one, it is an hour, unless the definition
        says None.
        """
        own = self._own_timeout
        if self._policy_timeout is None:
            return TIMEOUT if own is UNSET else own
        return min(own, self._policy_timeout) if isinstance(own, float) else self._policy_timeout

    @property
    def has_default_timeout(self) -> bool:
        """Whether neither the definition nor the policy says how long a run may take."""
        return self._policy_timeout is None and self._own_timeout is UNSET

    @property
    def _own_timeout(self) -> float | None | Unset:
        """What the definition says, in seconds; None: no limit; UNSET: nothing."""
        timeout_ms = self.handler.definition.timeout_ms
        return timeout_ms / 1000 if isinstance(timeout_ms, int) else timeout_ms

    def apply(self, policy: Mapping[str, Any]) -> bool:
        """Applies the type's policy. Returns whether the timeout has changed."""
        before = self.timeout
        timeout_ms = policy.get("timeout_ms")
        self._policy_timeout = None if timeout_ms is None else timeout_ms / 1000
        self.redactor = Redactor([*(self.handler.definition.redact or ()), *(policy.get("redact") or ())])
        self.keep_logs = policy.get("keep_logs") or "off"
        return self.timeout != before


class PerType(Generic[State]):
    """State that a part of the worker keeps for each handled type."""

    __slots__ = ("_states",)

    def __init__(self, types: Iterable[HandledType], make_state: Callable[[], State]) -> None:
        self._states = {type: make_state() for type in types}

    def of(self, type: HandledType) -> State:
        return self._states[type]
