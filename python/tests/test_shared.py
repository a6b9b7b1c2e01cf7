"""What the SDKs of both languages and the kernel must agree on."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import jobforge
from jobforge import InvalidArgumentError, JobForge, define_job, tenant_id
from jobforge import words as own
from jobforge.failure import cut_text, failure_line
from jobforge.retry import RETRY_PRESETS
from jobforge.telemetry import active_traceparent
from jobforge.tenant_id import TENANT_NAMESPACE
from jobforge.transport.functions import api_functions
from jobforge.version import VERSION

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

ROOT = Path(__file__).resolve().parents[2]
TENANT_IDS = json.loads((ROOT / "conformance/vectors/tenant-id.json").read_text(encoding="utf-8"))


def test_the_version_is_that_of_the_kernel() -> None:
    assert json.loads((ROOT / "sql/package.json").read_text(encoding="utf-8"))["version"] == VERSION


def test_tenant_ids_are_the_same_everywhere() -> None:
    assert str(TENANT_NAMESPACE) == TENANT_IDS["namespace"]
    for each in (*TENANT_IDS["mapped"], *TENANT_IDS["spelled"]):
        assert tenant_id(each["text"]) == each["uuid"]
    assert tenant_id(42) == tenant_id("42")


@pytest.mark.parametrize("text", TENANT_IDS["refused"])
def test_texts_that_name_no_tenant(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        tenant_id(text)


@pytest.fixture(scope="module")
def words() -> dict[str, Any]:
    """The words of the TypeScript SDK."""
    script = "import('@jobforge/sdk-ts').then((sdk) => console.log(JSON.stringify(sdk)))"
    out = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    found: dict[str, Any] = json.loads(out)
    return found


ELSEWHERE_ERRORS = {
    "NotSupportedError",  # For backends other than Postgres.
}
"""Errors of the other client that this one cannot raise, with the reason."""


def test_errors_are_those_of_the_other_sdk() -> None:
    script = "import('@jobforge/sdk-ts').then((sdk) => console.log(JSON.stringify(Object.keys(sdk))))"
    out = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    theirs = {name for name in json.loads(out) if name.endswith("Error")}
    assert len(theirs) > 20
    assert theirs - set(jobforge.__all__) == ELSEWHERE_ERRORS


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def test_bounds_are_those_of_the_other_sdk(words: dict[str, Any]) -> None:
    theirs = {snake(name): (each["min"], each["max"]) for name, each in words["bounds"].items()}
    assert {name: (each.min, each.max) for name, each in own.BOUNDS.items()} == theirs


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (own.JobStatus, "jobStatuses"),
        (own.AttemptStatus, "attemptStatuses"),
        (own.JobEndReason, "jobEndReasons"),
        (own.DedupeMode, "dedupeModes"),
        (own.AuditEntityType, "auditEntityTypes"),
        (own.OverlapMode, "overlapModes"),
        (own.MissedMode, "missedModes"),
        (own.UsagePeriod, "usagePeriods"),
        (own.WorkerStatus, "workerStatuses"),
        (own.ScheduleOrder, "scheduleOrders"),
        (own.BulkChange, "bulkChanges"),
        (own.NeedPolicy, "needPolicies"),
        (own.WorkflowStatus, "workflowStatuses"),
        (own.StepStatus, "stepStatuses"),
        (own.StepKind, "stepKinds"),
        (own.FailureAction, "failureActions"),
        (own.TimeoutAction, "timeoutActions"),
        (own.Resolution, "resolutions"),
        (own.StartOutcome, "startOutcomes"),
        (own.KeepLogs, "keepLogsModes"),
        (own.EnqueueOutcome, "enqueueOutcomes"),
        (own.GateScopeName, "gateScopes"),
        (own.LimitScopeName, "limitScopes"),
        (own.ScheduleKind, "scheduleKinds"),
        (own.ScheduleOutcome, "scheduleOutcomes"),
        (own.Dimension, "dimensions"),
        (own.WebhookFormat, "webhookFormats"),
        (own.WebhookSignature, "webhookSignatures"),
        (own.WebhookPart, "webhookParts"),
        (own.WebhookState, "webhookStates"),
        (own.NotifyStatus, "notifyStatuses"),
    ],
)
def test_words_are_those_of_the_other_sdk(words: dict[str, Any], ours: Any, theirs: str) -> None:
    assert list(get_args(ours)) == words[theirs]


def test_presets_are_those_of_the_other_sdk(words: dict[str, Any]) -> None:
    assert list(get_args(own.RetryPreset)) == list(words["retryPresets"])
    for name, theirs in words["retryPresets"].items():
        assert RETRY_PRESETS[name].keys() == {snake(key): value for key, value in theirs.items()}


def test_the_functions_of_the_api_are_known(db: TestDatabase) -> None:
    names = db.query(
        "select proname from pg_proc where pronamespace = 'public'::regnamespace and proname like 'jobforge%'"
    )
    assert {each["proname"] for each in names} == set(api_functions())


CUTS = ["short", "word " * 100, "x" * 500, "a https://user:pass@host/path " * 20, 'quo"ted ' * 60, "ü🎉 " * 200]


@pytest.mark.parametrize("text", CUTS)
@pytest.mark.parametrize("length", [10, 100, 300])
def test_texts_are_cut_as_in_the_database(db: TestDatabase, text: str, length: int) -> None:
    assert cut_text(text, length) == db.value("select jobforge.cut_text(%s, %s)", [text, length])


ERRORS: list[dict[str, Any]] = [
    {"message": "fetch failed", "cause": {"message": "refused", "code": "ECONNREFUSED"}},
    {"message": "", "code": "E1"},
    {"name": "Boom"},
    {"message": "all", "errors": [{"message": str(n)} for n in range(5)], "omittedErrors": 2},
    {"message": "a", "cause": {"message": "a", "cause": "why"}},
]


@pytest.mark.parametrize("error", ERRORS)
def test_the_line_of_an_error_is_that_of_the_database(db: TestDatabase, error: dict[str, Any]) -> None:
    line = db.value("select jobforge.full_message(%s::jsonb)", [json.dumps(error)])
    assert failure_line(error) == line


def test_an_enqueue_has_the_active_span(blocking_forge: JobForge, tenant: str) -> None:
    assert active_traceparent() is None
    with TracerProvider().get_tracer("test").start_as_current_span("request") as span:
        handle = blocking_forge.enqueue(define_job("a"), {}, tenant=tenant)
    assert handle.job is not None
    assert handle.job.traceparent is not None
    assert trace.format_trace_id(span.get_span_context().trace_id) in handle.job.traceparent
