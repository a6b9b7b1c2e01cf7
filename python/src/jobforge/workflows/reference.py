"""References: values that are known only when a workflow runs, such as the result of a step.

While a workflow is defined, the attributes and items of a reference are references, too: `audio.result.path`. In the
graph it is JSON such as `{"$result": "audio.path"}`, which the kernel replaces when the step starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

from ..errors import InvalidArgumentError
from ..suggest import suggest
from .shape import UNKNOWN, fields_of, is_scalar, item_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T", covariant=True)

RefKind: TypeAlias = Literal["$result", "$input", "$item", "$index"]


@dataclass(frozen=True, slots=True)
class Target:
    """What a reference points to."""

    kind: RefKind
    owner: object
    """The list of steps to which it belongs."""
    path: tuple[str, ...] = ()
    """Of a result: the name of its step, then the path in the result."""
    annotation: Any = field(default=UNKNOWN, compare=False)

    def json(self) -> dict[str, object]:
        """The reference as the kernel reads it. Its path is a text with dots, or a list if a key has a dot itself."""
        if self.kind == "$index":
            return {self.kind: True}
        has_dots = any(key == "" or "." in key for key in self.path)
        return {self.kind: list(self.path) if has_dots else ".".join(self.path)}

    def __str__(self) -> str:
        return ".".join((self.kind[1:], *self.path))

    def part(self, name: str) -> Target:
        """A field of the value. Refuses a name that its type does not have."""
        fields = fields_of(self.annotation)
        if fields is None:
            if is_scalar(self.annotation):
                raise InvalidArgumentError(
                    f"{self} has no parts: it is a value of type {self.annotation!r}", field=f"{self}.{name}"
                )
            return replace(self, path=(*self.path, name), annotation=UNKNOWN)
        found = fields.get(name) or next((each for each in fields.values() if each.key == name), None)
        if found is None:
            hint = suggest(name, fields)
            raise InvalidArgumentError(f"{self} has no field {name}", field=f"{self}.{name}", hint=hint)
        return replace(self, path=(*self.path, found.key), annotation=found.annotation)

    def item(self, index: int) -> Target:
        """An item of a list."""
        return replace(self, path=(*self.path, str(index)), annotation=item_of(self.annotation))


class Ref(Generic[T]):
    """A reference to a value of type `T`. `ref.name` and `ref["name"]` refer to a field, `ref[0]` to an item."""

    __slots__ = ("_target",)

    def __init__(self, target: Target) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Ref[Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return Ref(self._target.part(name))

    def __getitem__(self, key: str | int) -> Ref[Any]:
        if isinstance(key, int):
            return Ref(self._target.item(key))
        return Ref(self._target.part(key))

    def __iter__(self) -> Iterator[Any]:
        raise self._no_value()

    def __bool__(self) -> bool:
        raise self._no_value()

    def __str__(self) -> str:
        raise self._no_value()

    def __format__(self, spec: str) -> str:
        del spec
        raise self._no_value()

    def __repr__(self) -> str:
        return f"<Ref {self._target}>"

    def _no_value(self) -> InvalidArgumentError:
        """A text or a truth made of a reference would not be what the code seems to say."""
        return InvalidArgumentError(
            f"{self._target} has no value while the workflow is defined",
            hint="Pass the reference itself as a part of a step's input, and compute with it in the handler.",
        )


def target_of(value: object) -> Target | None:
    """What a reference points to; None for other values."""
    # Not by an attribute of the caller's value: a field may have this name.
    return object.__getattribute__(value, "_target") if isinstance(value, Ref) else None
