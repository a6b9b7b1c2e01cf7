"""Durable steps of one run, without the waiting itself.

Each method is a flow: a generator that yields what to do next, so that handlers on the event loop and in threads share
it. A flow that must wait ends the run as suspended, and leaves the handler with `RunOver`. The names of checkpoints are
those of the TypeScript worker: a job that one has suspended may go on in the other.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeAlias, TypeVar

from ...arguments import check_callable, check_range, check_text, milliseconds, refuse
from ...describe_error import describe_error
from ...durable import ChildFailedError, SettledChild, SignalReply, StepFacts, StepFailedError, StepResult
from ...jsontext import to_storable_json
from ...operations.prepare import definition_of
from ...schema import Schema, schema_of
from ...waiting import output_of
from ...words import BOUNDS, Bounds
from ...workflows.records import AddedStepCount
from ...workflows.start import NewWorkflow

if TYPE_CHECKING:
    from ...definition import JobDefinition, NewJob
    from ...workflows.builder import AddedSteps

T = TypeVar("T")

_LONGEST_PAUSE: Final = 5.0
"""A longer wait before a retry of a step suspends the run."""
_MAX_RETRIES: Final = Bounds(0, 10_000)

Checkpoint: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """A call of the database."""

    make: Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Work:
    """The application's own function."""

    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Pause:
    """A short wait in the run."""

    seconds: float


Flow: TypeAlias = Generator[Ask | Work | Pause, Any, T]


class Store(Protocol):
    """Where checkpoints are, and what happens to the run."""

    @property
    def job_id(self) -> str: ...

    @property
    def runs_again(self) -> bool:
        """Whether the handler has asked for another run of the job, with `defer()` or `retry_after()`."""
        ...

    @property
    def has_failed(self) -> bool:
        """Whether the handler has called `fail()`."""
        ...

    def require_open(self) -> None:
        """Leaves the handler if its run was aborted or has ended: that must not start what it does about errors."""
        ...

    def suspend(self, wait: Mapping[str, Any]) -> NoReturn:
        """Ends the run: its job waits."""
        ...

    def time_of(self, when: Any) -> str:
        """A time, given as such or as seconds from now on the database's clock."""
        ...

    def child(self, call: NewJob[Any] | NewWorkflow[Any]) -> Any:
        """A child in the form that the database takes."""
        ...

    async def load(self) -> Mapping[str, Checkpoint]: ...

    async def save(self, checkpoint: Checkpoint) -> None: ...

    async def take(self, wait: str) -> Mapping[str, Any]:
        """`signal` and `payload`, or `timed_out`, or `pending`."""
        ...

    async def results(self, wait: str) -> Sequence[Mapping[str, Any]]:
        """How the children of a wait ended, in order."""
        ...

    async def results_after(self, step: str, after: int) -> Mapping[str, Any]:
        """A page of results: `items`, and `next` for the next page."""
        ...

    async def add_steps(self, steps: AddedSteps, *, detached: bool) -> Mapping[str, Any]:
        """Adds steps to the workflow of the run: `added` and `existing`."""
        ...


class DurableSteps:
    def __init__(self, store: Store) -> None:
        self._store = store
        # How often each name was used in this run.
        self._uses: dict[str, int] = {}
        self._reached: set[str] = set()
        self._loaded: Mapping[str, Checkpoint] | None = None

    @property
    def runs_again(self) -> bool:
        return self._store.runs_again

    @property
    def has_failed(self) -> bool:
        return self._store.has_failed

    def step(self, given: str, work: Callable[..., Any], output: Any, retries: int | None, backoff: Any) -> Flow[Any]:
        check_callable(work, "work", 'Pass a function: await job.step("name", work).')
        if retries is not None:
            check_range(retries, "retries", _MAX_RETRIES)
        base = milliseconds(backoff, "backoff", BOUNDS["retry_ms"]) / 1000
        schema = schema_of(output, "output")
        name = self._name_of(given)
        known = yield from self._reach(name)
        if known is not None and known.get("done"):
            return _result_of(known, schema)
        tries = 0 if known is None else known.get("tries", 0)
        facts = StepFacts(f"{self._store.job_id}:{name}")
        while True:
            try:
                value = yield Work(partial(work, facts) if _takes(work, 1) else work)
                return (yield from self._save(name, value, schema))
            except Exception as error:
                self._store.require_open()
                if retries is None:
                    raise
                tries += 1
                failed = describe_error(error)
            if tries > retries:
                yield from self._write({"name": name, "error": failed, "tries": tries})
                raise StepFailedError(failed)
            pause = base * 2 ** (tries - 1)
            if pause <= _LONGEST_PAUSE:
                yield Pause(pause)
                self._store.require_open()
                continue
            until = self._store.time_of(pause)
            yield from self._write({"name": name, "error": failed, "tries": tries, "done": False})
            self._store.suspend({"name": f"{name}, before try {tries + 1}", "until": until})

    def known_step(self, given: str) -> Flow[tuple[str, Checkpoint | None]]:
        """The name of a step, and its checkpoint if it is done."""
        name = self._name_of(given)
        known = yield from self._reach(name)
        return name, known if known is not None and known.get("done") else None

    def sleep(self, when: Any) -> Flow[None]:
        name = self._name_of("sleep")
        known = yield from self._reach(name)
        if known is None or not known.get("done"):
            self._store.suspend({"name": name, "until": self._store.time_of(when)})

    def wait_for(self, signals: str | Sequence[str], payload: Any, timeout: Any) -> Flow[SignalReply]:
        names = [signals] if isinstance(signals, str) else list(signals)
        if not names:
            refuse("signals", "must have at least one name")
        for index, each in enumerate(names):
            check_text(each, f"signals[{index}]")
        schema = schema_of(payload, "payload")
        wait: dict[str, Any] = {"name": self._name_of(f"wait for {', '.join(names)}"), "signals": names}
        if timeout is not None:
            wait["until"] = self._store.time_of(milliseconds(timeout, "timeout", BOUNDS["timeout_ms"]) / 1000)
        known = yield from self._reach(wait["name"])
        if known is not None:
            reply = yield from self._ask(partial(self._store.take, wait["name"]))
            if reply.get("timed_out"):
                return SignalReply(timed_out=True)
            if not reply.get("pending"):
                return SignalReply(False, reply["signal"], schema.load(reply["payload"], "payload"))  # noqa: FBT003
        self._store.suspend(wait)

    def all(self, calls: Sequence[NewJob[Any] | NewWorkflow[Any]], *, settled: bool, abandon: bool) -> Flow[list[Any]]:
        name = self._name_of("all")
        if not calls:
            return []
        known = yield from self._reach(name)
        if known is None or not known.get("done"):
            wait = {"name": name, "children": [self._store.child(call) for call in calls]}
            self._store.suspend({**wait, "abandon": True} if abandon else wait)
        results = yield from self._ask(partial(self._store.results, name))
        ends = [_settled(call, result) for call, result in zip(calls, results, strict=True)]
        if settled:
            return ends
        for index, (call, end, result) in enumerate(zip(calls, ends, results, strict=True)):
            if end.status != "succeeded":
                raise ChildFailedError(
                    _name_of(call), index, result.get("job_id"), end.error, result.get("workflow_id")
                )
        return [end.value for end in ends]

    def results(self, job: Any, step: str, after: int) -> Flow[tuple[list[StepResult], int | None]]:
        """A page of the results of a step of the workflow, and where the next one begins."""
        definition = definition_of(job)
        check_text(step, "step")
        self._store.require_open()
        page = yield from self._ask(partial(self._store.results_after, step, after))
        return [_step_result(definition, each) for each in page["items"]], page["next"]

    def add_steps(self, steps: AddedSteps, *, detached: bool) -> Flow[AddedStepCount]:
        self._store.require_open()
        row = yield from self._ask(partial(self._store.add_steps, steps, detached=detached))
        return AddedStepCount.from_row(row)

    def version(self, name: str) -> Flow[bool]:
        place = self._name_of(f"version {name}")
        known = yield from self._reach(place)
        if known is not None and known.get("done"):
            return known.get("value") is True
        loaded = self._loaded or {}
        is_new = all(each in self._reached for each in loaded)
        yield from self._write({"name": place, "kind": "version", "value": is_new})
        return is_new

    def _name_of(self, given: str) -> str:
        check_text(given, "name")
        uses = self._uses[given] = self._uses.get(given, 0) + 1
        return given if uses == 1 else f"{given}#{uses}"

    def _reach(self, name: str) -> Flow[Checkpoint | None]:
        """The checkpoint of this name, if an earlier execution has written it. Stops here if the run is over."""
        self._store.require_open()
        self._reached.add(name)
        if self._loaded is None:
            self._loaded = yield from self._ask(self._store.load)
        return self._loaded.get(name)

    def _save(self, name: str, value: object, schema: Schema[Any]) -> Flow[Any]:
        self._store.require_open()
        stored = stored_form(schema.dump(value, f"the result of {name}"), name)
        yield from self._write({"name": name, "value": stored})
        return schema.load(stored, f"the result of {name}")

    def _write(self, checkpoint: Checkpoint) -> Flow[None]:
        yield from self._ask(partial(self._store.save, checkpoint))

    def _ask(self, make: Callable[[], Awaitable[T]]) -> Flow[T]:
        try:
            found: T = yield Ask(make)
        except Exception:
            self._store.require_open()
            raise
        return found


def stored_form(value: object, name: str) -> Any:
    """The value as it is stored, and as later executions get it."""
    return json.loads(to_storable_json(value, f"the result of {name}").text)


def _result_of(known: Checkpoint, schema: Schema[Any]) -> Any:
    error = known.get("error")
    if error is not None:
        raise StepFailedError(error)
    return schema.load(known.get("value"), "output")


def _name_of(call: NewJob[Any] | NewWorkflow[Any]) -> str:
    return call.workflow.name if isinstance(call, NewWorkflow) else call.definition.type


def _settled(call: NewJob[Any] | NewWorkflow[Any], result: Mapping[str, Any]) -> SettledChild:
    if result["status"] == "succeeded":
        if isinstance(call, NewWorkflow):
            return SettledChild("succeeded", call.workflow.output.load(result.get("result"), "output"))
        return SettledChild("succeeded", output_of(call.definition, result.get("result")))
    return SettledChild(result["status"], None, result.get("error"))


def _step_result(definition: JobDefinition[Any, Any], item: Mapping[str, Any]) -> StepResult:
    if item["status"] == "succeeded":
        return StepResult(item["index"], "succeeded", output_of(definition, item.get("result")))
    return StepResult(item["index"], item["status"], None, item.get("error"))


def _takes(function: Callable[..., Any], arguments: int) -> bool:
    """Whether a function takes this number of arguments."""
    try:
        inspect.signature(function).bind(*(None for _ in range(arguments)))
    except (TypeError, ValueError):
        return False
    return True


def undo_call(undo: Callable[..., Any], result: Any) -> Callable[[StepFacts], Any]:
    """The function of the step that undoes another one."""
    if _takes(undo, 2):
        return lambda facts: undo(result, facts)
    return lambda _facts: undo(result)
