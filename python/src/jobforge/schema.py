"""Turns Python values into JSON and back, by the type that a definition names.

A Pydantic model (or TypeAdapter) is read by Pydantic. A dataclass, a TypedDict and the types of the standard library
are read here, so that they behave the same whether Pydantic is installed or not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import InvalidValueError, InvalidValueIssue
from .losses import json_form
from .standard_types import reader_of

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Schema(ABC, Generic[T]):
    """What a payload or a result looks like, in Python and in JSON."""

    @abstractmethod
    def load(self, form: object, field: str) -> T:
        """Reads plain JSON values. Raises an InvalidValueError that names the place, as in `payload.lines[0].price`."""

    def dump(self, value: object, field: str) -> Any:
        """The plain JSON values of a Python value. Raises an InvalidArgumentError that names the place."""
        return json_form(value, field)


class AnySchema(Schema[Any]):
    """Any JSON."""

    def load(self, form: object, field: str) -> Any:
        del field
        return form


class StandardSchema(Schema[T]):
    """Types of the standard library."""

    def __init__(self, annotation: object, field: str) -> None:
        self.annotation = annotation
        self._read = reader_of(annotation, field)

    def load(self, form: object, field: str) -> T:
        issues: list[InvalidValueIssue] = []
        value: T = self._read(form, (), issues)
        if issues:
            raise invalid_value(issues, field)
        return value


class PydanticSchema(Schema[T]):
    """Models of Pydantic, and everything for which the caller made a TypeAdapter."""

    def __init__(self, annotation: Any) -> None:
        from pydantic import TypeAdapter

        self.annotation = annotation
        self._own_adapter = isinstance(annotation, TypeAdapter)
        self._adapter: Any = annotation if self._own_adapter else TypeAdapter(annotation)
        config: Any = getattr(annotation, "model_config", None) or {}
        self._is_strict = bool(config.get("strict"))

    def load(self, form: object, field: str) -> T:
        from pydantic import ValidationError
        from pydantic_core import to_json

        try:
            # A strict model takes a text for a time only when it reads JSON.
            read = self._adapter.validate_json if self._is_strict else self._adapter.validate_python
            value: T = read(to_json(form) if self._is_strict else form)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            issues = [InvalidValueIssue(each["msg"], tuple(each["loc"])) for each in found]
            raise invalid_value(issues, field) from error
        return value

    def dump(self, value: object, field: str) -> Any:
        if self._own_adapter and not isinstance(value, (dict, list)):
            return json_form(self._adapter.dump_python(value, mode="json", by_alias=True), field)
        return json_form(value, field)


def schema_of(annotation: Any, field: str) -> Schema[Any]:
    """The schema for what a definition passes as `input` or `output`; None is any JSON."""
    if isinstance(annotation, Schema):
        return annotation
    if annotation is None or annotation is Any or annotation is object:
        return AnySchema()
    is_model = isinstance(annotation, type) and hasattr(annotation, "__pydantic_validator__")
    if is_model or hasattr(annotation, "validate_python"):
        return PydanticSchema(annotation)
    return StandardSchema(annotation, field)


def invalid_value(issues: Sequence[InvalidValueIssue], field: str) -> InvalidValueError:
    """The error for what a schema found."""
    first = issues[0]
    place = field + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first.path)
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    return InvalidValueError(f"{place}: {first.message}{more}", issues, field=place)
