"""One call of the kernel, and steps of several."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from ..fast import loads
from ..words import UNSET

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A function of the API, its arguments, and how its result is read."""

    name: str
    args: Mapping[str, object]
    read: Callable[[Any], T]
    """Gets the result as JSON values; None for no result."""

    def result(self, text: str | None) -> T:
        """Reads what a transport has returned."""
        return self.read(None if text is None else loads(text))


Steps: TypeAlias = Generator[Call[Any], Any, T]
"""Several calls, one after the other. The client sends back the result of each."""


def ask(call: Call[T]) -> Steps[T]:
    """One step: `result = yield from ask(call)`."""
    result: T = yield call
    return result


def nothing(_: object) -> None:
    """Ignores a result."""


def whole(value: T) -> T:
    """Reads a result as it is."""
    return value


def given(value: Any, field: str, check: Any, *more: Any) -> Any:
    """The value after its check; UNSET for an optional argument that was not given."""
    return UNSET if value is None else check(value, field, *more)
