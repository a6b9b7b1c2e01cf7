"""Payloads and results by type: dataclasses, TypedDicts and the standard library, and Pydantic models."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any, Literal, NotRequired, Required, TypedDict
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from jobforge import InvalidArgumentError, InvalidValueError, JobContext, define_job, job
from jobforge.schema import schema_of


class Size(Enum):
    BIG = 1


@dataclass
class Line:
    price: float
    note: str | None = None


@dataclass
class Order:
    id: UUID
    lines: list[Line]
    at: datetime
    day: date
    size: Size = Size.BIG
    kind: Literal["a", "b"] = "a"
    meta: dict[str, int] = field(default_factory=dict)
    pair: tuple[int, str] | None = None


class Options(TypedDict, total=False):
    retries: int


class Mail(BaseModel):
    to: str
    at: datetime | None = None


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    at: datetime


class Aliased(BaseModel):
    message_id: str = Field(alias="messageId")


@dataclass
class Sent:
    mails: list[Mail]
    receipt: Aliased | None = None


NOW = datetime(2026, 11, 18, 5, tzinfo=UTC)
ORDER = Order(UUID(int=7), [Line(1.5), Line(2, "x")], NOW, NOW.date(), meta={"n": 1}, pair=(1, "a"))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Order, ORDER),
        (Options, {"retries": 3}),
        (list[int | str], [1, "a"]),
        (dict[str, date], {"a": NOW.date()}),
        (Mail, Mail(to="ada", at=NOW)),
        (Strict, Strict(at=NOW)),
        (Aliased, Aliased(messageId="m")),
        (list[Mail], [Mail(to="ada"), Mail(to="grace", at=NOW)]),
        (dict[str, Strict] | None, {"a": Strict(at=NOW)}),
        (Sent, Sent([Mail(to="ada")], Aliased(messageId="m"))),
        (TypeAdapter(dict[str, datetime]), {"a": "2026-11-18T05:00:00Z"}),
    ],
)
def test_values_survive_the_way_through_json(annotation: Any, value: object) -> None:
    schema = schema_of(annotation, "input")
    loaded = schema.load(schema.dump(value, "payload"), "payload")
    assert loaded == value or loaded == {"a": NOW}


@pytest.mark.parametrize(
    ("annotation", "form", "place"),
    [
        (Order, {}, "payload.id"),
        (list[Line], [{"price": "x"}], "payload[0].price"),
        (list[Line], [{"price": True}], "payload[0].price"),
        (datetime, "2026-11-18T05:00:00", "payload"),
        (dict[str, UUID], {"a": "no"}, "payload.a"),
        (Literal["a"], "b", "payload"),
        (Size, 2, "payload"),
        (tuple[int, str], [1], "payload"),
        (Options, {"retries": "3"}, "payload.retries"),
        (Mail, {"to": 1}, "payload.to"),
        (Line, "text", "payload"),
        (list[Mail], [{"to": "ada"}, {"to": 1}], "payload[1].to"),
        (Sent, {"mails": [{}], "receipt": None}, "payload.mails[0].to"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(annotation: Any, form: object, place: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        schema_of(annotation, "input").load(form, "payload")
    assert refused.value.field == place
    assert refused.value.code == "JF002"


def test_one_error_counts_all_issues() -> None:
    with pytest.raises(InvalidValueError, match="and 3 more") as refused:
        schema_of(Order, "input").load({}, "payload")
    assert [each.path for each in refused.value.issues] == [("id",), ("lines",), ("at",), ("day",)]


def test_unknown_keys_are_ignored() -> None:
    assert schema_of(Line, "input").load({"price": 1, "newer": True}, "payload") == Line(1.0)


def test_a_type_without_a_json_form_is_refused_when_it_is_defined() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be read from JSON"):
        define_job("a", input=set[int])
    with pytest.raises(InvalidArgumentError, match="cannot be read from JSON"):
        define_job("a", input=Mail(to="ada"))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="cannot be read from JSON"):
        define_job("a", input={"to": str})  # type: ignore[arg-type]


def test_a_function_is_a_job_with_typed_arguments() -> None:
    @job("report.build", timeout=60)
    def build(context: JobContext, month: date, formats: list[str] | None = None) -> str:
        return f"{month:%Y-%m} {formats}"

    new = build.new(date(2026, 11, 1), formats=["pdf"])
    form = build.definition.input.dump(new.input, "payload")
    assert form == {"month": "2026-11-01", "formats": ["pdf"]}
    assert build.definition.input.load({"month": "2026-11-01"}, "payload") == {"month": date(2026, 11, 1)}
    with pytest.raises(InvalidValueError) as refused:
        build.definition.input.load({}, "payload")
    assert refused.value.field == "payload.month"
    with pytest.raises(TypeError):
        build.new()  # type: ignore[call-arg]
    assert (build.handler.run_in, build.definition.timeout_ms) == ("thread", 60_000)


def test_a_function_must_take_the_context_and_named_arguments() -> None:
    with pytest.raises(InvalidArgumentError, match="JobContext"):

        @job("a")  # type: ignore[arg-type]
        def no_context() -> None: ...

    with pytest.raises(InvalidArgumentError, match="JobContext"):

        @job("a")  # type: ignore[arg-type]
        def takes_the_input_first(month: date, job: JobContext) -> None: ...

    with pytest.raises(InvalidArgumentError, match="args"):

        @job("a")
        def many(context: JobContext, *args: int) -> None: ...


class Marked(TypedDict):
    name: str
    note: NotRequired[str]


def test_job_without_a_type_says_how_it_is_written() -> None:
    def build(job: JobContext) -> None: ...

    with pytest.raises(InvalidArgumentError, match=r'Write @job\("report.build"\)'):
        job(build)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidArgumentError, match="must consist of letters"):
        job("Build report")


class MarkedOptions(TypedDict, total=False):
    name: Required[str]
    note: str


@pytest.mark.parametrize("kind", [Marked, MarkedOptions])
def test_marks_of_a_typed_dict_hold_in_a_module_whose_annotations_are_texts(kind: type) -> None:
    schema = schema_of(kind, "input")
    assert schema.load({"name": "x"}, "payload") == {"name": "x"}
    with pytest.raises(InvalidValueError, match=r"payload\.name: is required"):
        schema.load({"note": "x"}, "payload")
