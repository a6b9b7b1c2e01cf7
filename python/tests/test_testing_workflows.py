"""Running workflows inside a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import pytest

from jobforge import JobContext, MapStep, Ref, Step, Steps, WorkflowFailedError, compensate, define_workflow, job
from jobforge.testing import run_workflow

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase


class File(TypedDict):
    file: str


class Approval(TypedDict):
    by: str


@job("begin")
def begin(job: JobContext, file: str) -> str:
    return f"op-{file}"


@job("escalate")
def escalate(job: JobContext) -> None: ...


@define_workflow("single", input=File)
def single(w: Steps, input: Ref[File]) -> Step[str]:
    return w.step("begin", begin, {"file": input["file"]})


@define_workflow("approve")
def approve(w: Steps, input: Ref[Any]) -> Step[Approval]:
    approved = w.signal("ok", Approval, timeout=259_200)
    w.step("escalate", escalate, {}, needs=[compensate(approved)])
    return approved


async def test_delays_retries_and_deferred_runs_take_no_time(db: TestDatabase, tenant: str) -> None:
    asked: list[int] = []

    @job("poll")
    def poll(job: JobContext, operation: str) -> str:
        asked.append(job.attempt)
        if len(asked) == 1:
            raise ValueError("busy")
        if len(asked) < 4:
            job.defer(86_400, counts=False)
        return operation

    @define_workflow("transcribe", input=File)
    def transcribe(w: Steps, input: Ref[File]) -> Step[str]:
        operation = w.step("begin", begin, {"file": input["file"]})
        return w.step("poll", poll, {"operation": operation.result}, delay=3600, max_attempts=3)

    assert await run_workflow(db, transcribe, {"file": "a"}, handlers=[begin, poll], tenant=tenant) == "op-a"
    assert asked == [1, 2, 3, 4]


async def test_signals_are_taken_and_without_them_the_timeout_comes(db: TestDatabase, tenant: str) -> None:
    signals = [("ok", {"by": "ada"})]
    assert await run_workflow(db, approve, handlers=[escalate], tenant=tenant, signals=signals) == {"by": "ada"}
    with pytest.raises(WorkflowFailedError, match="No signal ok came"):
        await run_workflow(db, approve, handlers=[escalate], tenant=tenant)
    assert db.value("select count(*) from jobforge_jobs where type = 'escalate' and status = 'succeeded'") == 1


async def test_a_wait_that_no_time_ends_is_an_error(db: TestDatabase, tenant: str) -> None:
    @define_workflow("forever")
    def forever(w: Steps, input: Ref[Any]) -> Step[Any]:
        return w.signal("ok")

    with pytest.raises(AssertionError, match="forever waits for the signal ok"):
        await run_workflow(db, forever, handlers=[escalate], tenant=tenant)
    with pytest.raises(AssertionError, match=r"single stands still \(1 .*Does each of its steps have a handler"):
        await run_workflow(db, single, {"file": "a"}, handlers=[escalate], tenant=tenant)


async def test_a_large_map_runs_in_slices(db: TestDatabase, tenant: str) -> None:
    @define_workflow("each")
    def each(w: Steps, input: Ref[Any]) -> MapStep[str]:
        return w.map("each", begin, [str(index) for index in range(1200)], lambda file, index: {"file": file})

    output = await run_workflow(db, each, handlers=[begin], tenant=tenant)
    assert (len(output), output[1199]) == (1200, "op-1199")
