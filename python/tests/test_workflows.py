"""Workflows: definitions and their checks, and the calls of both clients over both ways."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from jobforge import (
    AddedSteps,
    InvalidArgumentError,
    InvalidValueError,
    JobContext,
    JobForge,
    Ref,
    Step,
    StepNotResolvableError,
    Steps,
    WaitTimeoutError,
    WorkflowCanceledError,
    WorkflowFailedError,
    WorkflowNotFoundError,
    WorkflowNotRetryableError,
    build_workflow,
    compensate,
    define_job,
    define_workflow,
    job,
    run,
)
from jobforge.testing import drain

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobforge import AsyncJobForge
    from jobforge.testing.database import TestDatabase

    from .conftest import AsyncConnect, Connect


class Call(BaseModel):
    call_id: str = Field(alias="callId")
    tries: int = 0


@dataclass
class Audio:
    path: str
    seconds: int = 0


class Transcript(BaseModel):
    words: int


class Files(TypedDict):
    names: list[str]


extract = define_job("audio.extract", input=Call, output=Audio)
transcribe = define_job("audio.transcribe", input=Audio, output=Transcript)
listing = define_job("files.list", output=Files)
fails = define_job("always.fails")


@job("files.measure")
def measure(job: JobContext, name: str, index: int) -> int:
    return len(name) + index


@define_workflow("call.process", input=Call, version="2")
def process(w: Steps, call: Ref[Call]) -> Step[Transcript]:
    audio = w.step("extract", extract, {"callId": call.call_id}, max_attempts=3, delay=timedelta(seconds=0))
    return w.step("transcribe", transcribe, {"path": audio.result.path, "seconds": audio.result.seconds})


@extract.handler
async def on_extract(call: Call, _: JobContext) -> Audio:
    return Audio(f"/{call.call_id}.wav", 7)


@transcribe.handler
def on_transcribe(audio: Audio, _: JobContext) -> Transcript:
    return Transcript(words=audio.seconds + len(audio.path))


@listing.handler
def on_listing(_: Any, job: JobContext) -> Files:
    return {"names": ["a", "bb", "ccc"]}


@fails.handler
def on_fails(_: Any, job: JobContext) -> None:
    job.fail("no luck")


HANDLERS = (on_extract, on_transcribe, on_listing, on_fails, measure.handler)


def test_a_definition_is_the_graph_that_the_kernel_reads() -> None:
    assert process.graph.steps == [
        {
            "name": "extract",
            "type": "audio.extract",
            "payload": {"callId": {"$input": "callId"}},
            "max_attempts": 3,
            "delay_ms": 0,
        },
        {
            "name": "transcribe",
            "type": "audio.transcribe",
            "payload": {"path": {"$result": "extract.path"}, "seconds": {"$result": "extract.seconds"}},
            "needs": ["extract"],
        },
    ]
    assert process.graph.output == {"$result": "transcribe"}


def test_maps_signals_sub_workflows_and_policies() -> None:
    def steps(w: Steps) -> dict[str, Any]:
        found = w.step("list", listing, {})
        sizes = w.map("size", measure, found.result.names, lambda name, index: {"name": name, "index": index})
        fixed = w.map("fixed", fails, [{"$n": 1}, {"n": 2}])
        ok = w.signal("ok", Transcript, needs=[sizes], timeout=60, on_timeout="fail", signal="approve")
        sub = w.workflow("sub", process, {"callId": ok.result.words}, needs=[run(fixed)], optional=True)
        w.step("undo", fails, {}, needs=[compensate(sub)], cleanup=True)
        return {"sizes": sizes.result, "first": sizes.result[0], "fixed": "text"}

    graph = build_workflow("built", steps).graph
    listed, sizes, fixed, ok, sub, undo = graph.steps
    assert listed == {"name": "list", "type": "files.list", "payload": {}}
    assert sizes["map"] == {"over": {"$result": "list.names"}}
    assert sizes["payload"] == {"name": {"$item": ""}, "index": {"$index": True}}
    assert fixed["map"] == {"over": [{"$n": 1}, {"n": 2}]}
    assert ok["signal"] == {"name": "approve", "timeout_ms": 60_000, "on_timeout": "fail"}
    assert ok["needs"] == ["size"]
    assert sub["needs"] == [{"step": "fixed", "policy": "run"}, "ok"]
    assert (sub["steps"], sub["output"], sub["optional"]) == (process.graph.steps, process.graph.output, True)
    assert (undo["needs"], undo["cleanup"]) == ([{"step": "sub", "policy": "compensate"}], True)
    assert graph.output == {"sizes": {"$result": "size"}, "first": {"$result": "size.0"}, "fixed": "text"}


other = Steps()
elsewhere = other.step("elsewhere", fails, {})


def no_steps(w: Steps) -> None: ...


def misspelled(w: Steps) -> None:
    audio = w.step("a", extract, {"callId": "1"})
    w.step("b", transcribe, {"path": audio.result.pathh})


def missing(w: Steps) -> None:
    audio = w.step("a", extract, {"callId": "1"})
    w.step("b", transcribe, {"seconds": audio.result.seconds})


def invalid(w: Steps) -> None:
    w.step("a", transcribe, {"path": 1})


def part_of_text(w: Steps) -> None:
    audio = w.step("a", extract, {"callId": "1"})
    w.step("b", fails, {"x": audio.result.path.length})


def text_of_reference(w: Steps) -> None:
    audio = w.step("a", extract, {"callId": "1"})
    w.step("b", fails, {"x": f"file {audio.result.path}"})


def other_list(w: Steps) -> None:
    w.step("a", fails, {"x": elsewhere.result})


def other_need(w: Steps) -> None:
    w.step("a", fails, {}, needs=[elsewhere])


def twice(w: Steps) -> None:
    w.step("a", fails, {})
    w.step("a", fails, {})


def bad_name(w: Steps) -> None:
    w.step("a.b", fails, {})


def unknown_option(w: Steps) -> None:
    w.step("a", fails, {}, retries=3)  # type: ignore[call-arg]


def deep(w: Steps) -> None:
    audio = w.step("a", extract, {"callId": "1"})
    w.step("b", fails, {"x": {"y": {"z": {"deep": audio.result}}}})


def useless_timeout(w: Steps) -> None:
    w.signal("a", on_timeout="fail")


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (no_steps, "at least one step"),
        (misspelled, "has no field pathh\nDid you mean path?"),
        (missing, "steps.b.input.path is required"),
        (invalid, "steps.a.input.path"),
        (part_of_text, "has no parts"),
        (text_of_reference, "has no value while the workflow is defined"),
        (other_list, "another list of steps"),
        (other_need, "must be a step of this list"),
        (twice, "two steps with the name a"),
        (bad_name, "steps.a.b.name"),
        (unknown_option, "Did you mean max_attempts?"),
        (deep, "where none is replaced"),
        (useless_timeout, "has no effect without timeout"),
    ],
)
def test_mistakes_are_found_when_a_workflow_is_defined(steps: Callable[[Steps], Any], says: str) -> None:
    with pytest.raises((InvalidArgumentError, InvalidValueError)) as caught:
        build_workflow("wrong", steps)
    assert says in str(caught.value)


@pytest.mark.parametrize("way", ["postgres", "http"])
async def test_a_workflow_runs_to_its_end(
    way: Any, connect_async: AsyncConnect, async_forge: AsyncJobForge, tenant: str
) -> None:
    forge = connect_async(way, "jobforge_operator")
    started = await forge.start(process, Call(callId="c1"), tenant=tenant, idempotency_key="c1", subject="c1")
    assert (started.outcome, set(started.step_ids)) == ("created", {"extract", "transcribe"})
    again = await forge.workflows.start(process, {"callId": "c1"}, tenant=tenant, idempotency_key="c1")
    assert (again.outcome, again.id) == ("existing", started.id)
    found = await started.get()
    assert found is not None
    assert (found.status, found.version, found.counts) == ("running", "2", {"queued": 1, "blocked": 1})
    await drain(async_forge, HANDLERS)
    assert await started.result(timeout=30) == Transcript(words=14)
    assert await forge.workflows.result(started.id, tenant=tenant) == {"words": 14}
    assert [step.path async for step in started.steps()] == ["extract", "transcribe"]
    listed = [each.id async for each in forge.workflows.list(tenant=tenant, status="succeeded", name="call.process")]
    assert listed == [started.id]


@pytest.mark.parametrize("way", ["postgres", "http"])
async def test_signals_retries_and_repairs(
    way: Any, connect_async: AsyncConnect, async_forge: AsyncJobForge, tenant: str
) -> None:
    def steps(w: Steps) -> Step[Any]:
        ok = w.signal("ok", Transcript, timeout=3600)
        bad = w.step("bad", fails, {"n": ok.result.words})
        return w.step("last", fails, {"n": bad.result})

    forge = connect_async(way, "jobforge_operator")
    handle = await forge.start(build_workflow("repair", steps), {}, tenant=tenant)
    details = await forge.workflows.get(handle.id, tenant=tenant)
    assert details is not None
    assert [(each.step, each.signal) for each in details.waits] == [("ok", "ok")]
    reasons = await handle.explain()
    assert reasons is not None
    assert (reasons[0].code, reasons[0].details["signal"]) == ("waits_for_signal", "ok")
    assert await forge.workflows.explain(tenant, tenant=tenant) is None
    with pytest.raises(WaitTimeoutError, match="Workflow"):
        await handle.result(timeout=0)
    assert (await handle.signal("ok", {"words": 3}, key="k")).taken is True
    assert (await forge.signal(handle.id, "ok", {"words": 3}, tenant=tenant, key="k")).outcome == "existing"
    await drain(async_forge, HANDLERS)
    with pytest.raises(WorkflowFailedError, match="bad: no luck") as failed:
        await handle.result(timeout=30)
    assert failed.value.workflow.failed[0].step == "bad"
    with pytest.raises(StepNotResolvableError):
        await forge.workflows.resolve(handle.id, "ok", tenant=tenant, status="skipped")
    assert (await handle.retry(steps=["bad"])).retried == 1
    await drain(async_forge, HANDLERS)
    await forge.workflows.resolve(handle.id, "bad", tenant=tenant, status="succeeded", result=5)
    await drain(async_forge, HANDLERS)
    statuses = {step.path: step.status async for step in handle.steps(kind=["job", "signal"])}
    assert statuses == {"ok": "succeeded", "bad": "succeeded", "last": "failed"}


@pytest.mark.parametrize("way", ["postgres", "http"])
async def test_a_workflow_gets_steps_and_another_deadline_and_many_are_changed_by_filter(
    way: Any, connect_async: AsyncConnect, async_forge: AsyncJobForge, tenant: str
) -> None:
    forge = connect_async(way, "jobforge_operator")
    graph = build_workflow("flow", lambda w: w.signal("ok", Transcript))
    started = await forge.start(graph, {}, tenant=tenant, subject="s1")

    def more(w: AddedSteps) -> None:
        w.step("more", fails, {"n": 1}, needs=[w.existing("ok")])

    added = [await forge.workflows.add_steps(started.id, more, tenant=tenant) for _ in range(2)]
    assert [(each.added, each.existing) for each in added] == [(1, 0), (0, 1)]
    deadline = datetime(2199, 1, 1, tzinfo=UTC)
    changed = await forge.workflows.update(started.id, tenant=tenant, deadline=deadline, priority=3, tags=["x"])
    assert (changed.deadline, changed.priority, changed.tags, changed.parent_id) == (deadline, 3, ["x"], None)
    changed = await forge.workflows.update(started.id, tenant=tenant, deadline=None)
    assert (changed.deadline, changed.priority) == (None, 3)
    none = await forge.workflows.retry_many(tenant=tenant, name="flow")
    assert (none.matched, none.changed) == (0, 0)
    canceled = await forge.workflows.cancel_many(tenant=tenant, subject="s1", limit=10)
    assert (canceled.matched, canceled.changed) == (1, 1)
    found = await started.get()
    assert found is not None
    assert found.cancel_at is not None
    with pytest.raises(InvalidArgumentError, match="needs a filter"):
        await forge.workflows.cancel_many(tenant=tenant)


async def test_a_canceled_workflow_is_not_retried(async_forge: AsyncJobForge, tenant: str) -> None:
    definition = build_workflow("stop", lambda w: w.step("a", fails, {}))
    handle = await async_forge.start(definition, {}, tenant=tenant, deadline=datetime.now(UTC) + timedelta(hours=1))
    assert (await handle.cancel(reason="enough")).canceled == 1
    with pytest.raises(WorkflowCanceledError):
        await handle.result(timeout=30)
    with pytest.raises(WorkflowNotRetryableError):
        await handle.retry(downstream=True)
    with pytest.raises(WorkflowNotFoundError):
        await async_forge.workflows.result(handle.step_ids["a"], tenant=tenant)


@pytest.mark.parametrize("way", ["postgres", "http"])
def test_the_blocking_client_has_the_same_calls(way: Any, connect: Connect, tenant: str) -> None:
    forge = connect(way, "jobforge_operator")
    started = forge.workflows.start_many(
        [process.new(Call(callId="1")), process.new(Call(callId="2")).using(tags=["x"])], tenant=tenant
    )
    assert [each.outcome for each in started] == ["created", "created"]
    tagged = list(forge.workflows.list(tenant=tenant, tags="x"))
    assert [each.id for each in tagged] == [started[1].id]
    assert [step.status for step in forge.workflows.steps(started[0].id, tenant=tenant)] == ["queued", "blocked"]
    with pytest.raises(InvalidArgumentError, match=r"workflows\[0\].timeout"):
        forge.workflows.start_many(
            [process.new(Call(callId="1")).using(timeout=1, deadline=datetime.now(UTC))], tenant=tenant
        )
    with pytest.raises(InvalidValueError, match=r"input\.callId"):
        forge.start(process, {}, tenant=tenant)


def test_a_start_belongs_to_the_transaction_of_the_caller(db: TestDatabase, tenant: str) -> None:
    import psycopg

    with JobForge(db.url) as forge, psycopg.connect(db.url) as connection:
        handle = forge.on(connection).start(process, {"callId": "1"}, tenant=tenant)
        assert handle.get() is None
        connection.rollback()
        assert handle.get() is None
        handle = forge.on(connection).start(process, {"callId": "1"}, tenant=tenant)
        connection.commit()
        found = handle.get()
        assert found is not None
        assert found.status == "running"
