"""What the worker's log masks: the same as the database masks in stored errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobforge.worker.reporting.redact import Redactor, mask_text, redactor

_ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    """The cases with which the database and the worker in TypeScript are tested."""
    found: list[dict[str, Any]] = json.loads((_ROOT / "conformance" / "vectors" / "redaction.json").read_text())
    return found


def test_the_log_masks_what_the_database_masks(cases: list[dict[str, Any]]) -> None:
    assert len(cases) > 20
    for case in cases:
        masking = Redactor(case.get("listed") or ())
        assert masking.value(case["value"]) == case["masked"], case["name"]
        assert masking.value(case["masked"]) == case["masked"], f"{case['name']}, masked again"


def test_errors_and_their_causes_keep_their_details_without_secrets() -> None:
    try:
        try:
            raise ValueError("token: abc")
        except ValueError as cause:
            error = RuntimeError("password=x")
            error.code = "E1"  # type: ignore[attr-defined]
            raise error from cause
    except RuntimeError as raised:
        masked = redactor.value({"err": raised})["err"]
    assert masked["type"] == "RuntimeError"
    assert masked["message"] == "password=[redacted]"
    assert "password=[redacted]" in masked["stack"]
    assert "password=x" not in json.dumps(masked)
    assert masked["code"] == "E1"
    assert masked["cause"]["message"] == "token: [redacted]"


def test_values_that_contain_themselves_do_no_harm() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert "nested too deep" in json.dumps(redactor.value(loop))


@pytest.mark.parametrize(
    "part",
    ["token-", "eyJ", "-----BEGIN PRIVATE KEY ", "authorization basic ", "bearer  ", "://a:b", " ", "password:\"'"],
)
def test_a_long_text_is_masked_without_going_back(part: str) -> None:
    text = part * (2**18 // len(part))
    assert len(mask_text(text)) > 0
    assert len(Redactor(["a", "token"]).text(text)) < 8300


def test_a_long_text_is_cut_without_leaving_a_part_of_a_secret() -> None:
    text = f"{'x' * 8180} password={'s' * 5000} end"
    assert redactor.text(text) == f"{'x' * 8180} password=[r… [cut: {len(text)} characters]"
    assert redactor.text("y" * 8192) == "y" * 8192
