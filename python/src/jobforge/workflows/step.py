"""Steps as the code that defines a workflow handles them, and the policies of needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from ..errors import InvalidArgumentError
from .reference import Ref, Target
from .shape import UNKNOWN

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from ..words import NeedPolicy

    T = TypeVar("T", default=Any, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T", covariant=True)


class Step(Generic[T]):
    """A step of a list of steps. Other steps can need it."""

    def __init__(self, owner: object, name: str, annotation: Any = UNKNOWN) -> None:
        self.name = name
        self._owner = owner
        self._annotation = annotation

    @property
    def result(self) -> Ref[T]:
        """A reference to what the step returns. A step that uses it needs this step."""
        return Ref(Target("$result", self._owner, (self.name,), self._annotation))

    def belongs_to(self, owner: object) -> bool:
        """Whether the step is in this list of steps."""
        return self._owner is owner

    def __repr__(self) -> str:
        return f"<Step {self.name}>"


class MapStep(Step[list[T | None]], Generic[T]):
    """A step with one job for each item.

    Its result is the list of their results, in the order of the items, with None for an item that did not succeed.
    Handlers read a long list page by page, with `job.results(definition, name)`.
    """


@dataclass(frozen=True, slots=True)
class Need:
    """A need with a policy: what happens if the needed step ends badly."""

    step: Step[Any]
    policy: NeedPolicy


def run(step: Step[Any]) -> Need:
    """The step runs also if the needed step ended badly. It can read the status and error of the need."""
    return _need(step, "run")


def wait(step: Step[Any]) -> Need:
    """If the needed step ends badly, the step waits until the need is retried or resolved."""
    return _need(step, "wait")


def compensate(step: Step[Any]) -> Need:
    """The step runs only if the needed step ended badly. Otherwise it is skipped."""
    return _need(step, "compensate")


def _need(step: Step[Any], policy: NeedPolicy) -> Need:
    if not isinstance(step, Step):
        hint = f"Pass what w.step() returned, such as {policy}(draft)."
        raise InvalidArgumentError(f"{policy}() takes a step", field="needs", hint=hint)
    return Need(step, policy)
