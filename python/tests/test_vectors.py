"""Pure functions, with the vectors that the kernel and every SDK are tested with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobforge import InvalidArgumentError, define_job, failure_line
from jobforge.failure import cut_text
from jobforge.jsontext import to_json, to_storable_json
from jobforge.operations.prepare import new_job, prepare_job
from jobforge.retry import RETRY_PRESETS
from jobforge.worker.presence.outage import backoff

_FOLDER = Path(__file__).resolve().parents[2] / "conformance" / "vectors"


def read(name: str) -> Any:
    return json.loads((_FOLDER / f"{name}.json").read_text())


ARGUMENTS = read("arguments")
ERRORS = read("errors")
JSON = read("json")
BACKOFF = read("backoff")


def named(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


@named(ARGUMENTS["accepted"])
def test_arguments_that_are_accepted(case: dict[str, Any]) -> None:
    assert prepare_job(new_job(define_job("a"), {}), case["options"]).tenant == case["options"]["tenant"]


@named(ARGUMENTS["refused"])
def test_arguments_that_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        prepare_job(new_job(define_job("a"), {}), case["options"])
    assert (refused.value.code, refused.value.field) == ("JF002", case["field"])


def test_types() -> None:
    for type in ARGUMENTS["types"]["accepted"]:
        assert define_job(type).type == type
    for type in ARGUMENTS["types"]["refused"]:
        with pytest.raises(InvalidArgumentError):
            define_job(type)


@named(ERRORS["lines"])
def test_the_line_of_an_error(case: dict[str, Any]) -> None:
    assert failure_line(case["error"]) == case["line"]


@named(ERRORS["cuts"])
def test_the_cut_of_a_text(case: dict[str, Any]) -> None:
    assert cut_text(case["text"], ERRORS["cutLength"]) == case["cut"]


def test_payloads_that_are_accepted_stay_as_they_are() -> None:
    for value in JSON["payloads"]["accepted"]:
        assert json.loads(to_json(value, "payload").text) == value


@named(JSON["payloads"]["refused"])
def test_payloads_that_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        to_json(case["value"], "payload")
    assert (refused.value.code, refused.value.field) == ("JF002", case["field"])


@named(JSON["results"])
def test_results_as_they_are_stored(case: dict[str, Any]) -> None:
    assert json.loads(to_storable_json(case["value"], "result").text) == case["stored"]


def test_the_presets_of_retries() -> None:
    for preset in BACKOFF["presets"]:
        for name in preset["names"]:
            keys = RETRY_PRESETS[name].keys()
            assert keys == {key: preset[key] for key in ("base_ms", "cap_ms", "factor", "max_attempts")}, name


def test_the_waits_of_an_outage() -> None:
    for case in BACKOFF["outage"]:
        waits = [backoff(case["times"]) * 1000 for _ in range(200)]
        assert min(waits) >= case["longest_ms"] / 2
        assert max(waits) <= case["longest_ms"]
