"""What becomes JSON, and what is refused with its place."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from jobforge import InvalidArgumentError
from jobforge.jsontext import to_json, to_storable_json


class Color(enum.Enum):
    RED = "red"


class Model(BaseModel):
    at: dt.datetime


@dataclass
class Point:
    x: int
    tags: tuple[str, ...] = ()


AWARE = dt.datetime(2026, 11, 18, 5, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2.5, True, None, "ü"]}, '{"a":[1,2.5,true,null,"ü"]}'),
        ((1, 2), "[1,2]"),
        ({"at": AWARE}, '{"at":"2026-11-18T05:00:00+00:00"}'),
        (dt.date(2026, 11, 18), '"2026-11-18"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (Color.RED, '"red"'),
        (Point(1, ("a",)), '{"x":1,"tags":["a"]}'),
        ([Model(at=AWARE)], '[{"at":"2026-11-18T05:00:00Z"}]'),
        (2**70, "1180591620717411303424"),
        ("\\u0000", '"\\\\u0000"'),
    ],
)
def test_values_with_a_json_form(value: object, text: str) -> None:
    assert to_json(value, "payload").text == text


def circular() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "place", "hint"),
    [
        ({"lines": [{"price": float("nan")}]}, "payload.lines[0].price", "finite"),
        ({"at": dt.datetime(2026, 1, 1)}, "payload.at", "aware"),  # noqa: DTZ001
        ({1: "a"}, "payload", "str(key)"),
        ({"data": b"x"}, "payload.data", "base64"),
        ({"ids": {1, 2}}, "payload.ids", "sorted"),
        ([Decimal("1.10")], "payload[0]", "str(value)"),
        (dt.timedelta(seconds=1), "payload", "total_seconds"),
        ({"e": ValueError("x")}, "payload.e", "message"),
        ({"f": print}, "payload.f", "plain JSON"),
        ({"a": "x\0y"}, "payload.a", "NUL"),
        (["\ud800"], "payload[0]", "surrogates"),
    ],
)
def test_what_json_would_lose_is_refused(value: object, place: str, hint: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        to_json(value, "payload")
    assert refused.value.field == place
    assert refused.value.hint is not None
    assert hint in refused.value.hint


def test_a_value_that_contains_itself_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="contains itself"):
        to_json(circular(), "payload")


def test_results_keep_what_postgres_can_store() -> None:
    assert to_storable_json({"a": "x\0y\ud800z\\u0000"}, "result").text == '{"a":"x\ufffdy\ufffdz\\\\u0000"}'
