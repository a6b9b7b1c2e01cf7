"""One of many workflows to start."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .options import StartOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .definition import WorkflowDefinition

Out = TypeVar("Out", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class NewWorkflow(Generic[Out]):
    """One workflow to start: its definition and input, and options of its own."""

    workflow: WorkflowDefinition[Any, Out]
    input: Any
    options: StartOptions = field(default_factory=StartOptions)

    def using(self, **options: Unpack[StartOptions]) -> NewWorkflow[Out]:
        """The same workflow with these options."""
        return replace(self, options=cast("StartOptions", {**self.options, **options}))
