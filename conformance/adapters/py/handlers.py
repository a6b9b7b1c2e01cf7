"""Handlers from a scenario's data: per attempt a list of steps."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .definitions import definition_of
from .durable import DurablePlaying
from .names import to_fields, to_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobforge import BatchItem, JobContext, JobHandler

    Emit = Callable[[str, dict[str, Any]], None]
    Steps = Sequence[dict[str, Any]]

_BACKGROUND: set[asyncio.Task[None]] = set()


class Gates:
    """Lets handlers wait until the scenario releases them. A gate stays open once it is released."""

    def __init__(self) -> None:
        self._gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def opened(self, name: str) -> None:
        """Returns when the gate is open, whatever cancels the caller meanwhile."""
        gate = self._gates[name]
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue

    def release(self, name: str) -> None:
        self._gates[name].set()

    def release_all(self) -> None:
        for gate in self._gates.values():
            gate.set()
        self._gates.clear()


@dataclass(frozen=True, slots=True)
class Returned:
    value: Any


_DURABLE = ("step", "sleep", "wait_for", "run", "all", "version", "add_steps")


@dataclass(frozen=True, slots=True)
class Playing:
    """One run of a handler."""

    input: Any
    job: JobContext[Any]
    definitions: dict[str, Any]
    gates: Gates
    emit: Emit
    durable: DurablePlaying

    async def play(self, steps: Steps) -> Any:
        """Plays the steps. Returns the value of the first step that returns one."""
        for step in steps:
            [(name, argument)] = step.items()
            play = getattr(self.durable, name) if name in _DURABLE else getattr(self, f"_{name}")
            returned = await play(argument)
            if isinstance(returned, Returned):
                return returned.value
        return None

    async def _return(self, value: Any) -> Returned:
        return Returned(value)

    async def _return_results(self, _: Any) -> Returned:
        return Returned(self.durable.results)

    async def _saga(self, steps: Steps) -> None:
        async with self.job.saga() as saga:
            self.durable.saga = saga
            await self.play(steps)

    async def _echo(self, _: Any) -> Returned:
        return Returned(plain(self.input))

    async def _return_text(self, size: dict[str, int]) -> Returned:
        return Returned("x" * size["bytes"])

    async def _return_unserializable(self, _: Any) -> Returned:
        return Returned({"when": object()})

    async def _throw(self, error: dict[str, Any]) -> None:
        raise error_of(error) from (error_of(error["cause"]) if "cause" in error else None)

    async def _throw_abort_reason(self, _: Any) -> None:
        raise asyncio.CancelledError

    async def _fail(self, failure: dict[str, Any]) -> None:
        self.job.fail(failure["message"], failure.get("details"))

    async def _defer(self, when: dict[str, Any]) -> None:
        self.job.defer(when["seconds"], **({"counts": when["counts"]} if "counts" in when else {}))

    async def _retry_after(self, when: dict[str, Any]) -> None:
        self.job.retry_after(when["seconds"], when.get("message"), at_least=when.get("at_least", False))

    async def _hold_key(self, until: dict[str, Any]) -> None:
        await self.job.hold_key(until["seconds"], until.get("reason"))

    async def _next_run(self, when: dict[str, Any]) -> None:
        self.job.next_run(when["seconds"])

    async def _wait_for_abort(self, _: Any) -> None:
        # The abort cancels the task as well; the handler goes on, as one that cleans up does.
        with suppress(asyncio.CancelledError):
            await self.job.wait_aborted()
        reason = self.job.abort_reason
        kind = "unknown" if reason is None else reason.kind
        self.emit("aborted", {"job": self.job.id, "attempt": self.job.attempt, "kind": kind})

    async def _hold(self, gate: str) -> None:
        await self.gates.opened(gate)

    async def _progress(self, value: Any) -> None:
        await self.job.progress(value)

    async def _cost(self, cents: Any) -> None:
        self.job.cost(cents)

    async def _enqueue(self, child: dict[str, Any]) -> None:
        options = to_options({name: each for name, each in child.items() if name not in ("type", "payload")})
        self.job.enqueue(definition_of(child["type"], self.definitions), child["payload"], **options)

    async def _log(self, line: dict[str, Any]) -> None:
        level = "warning" if line["level"] == "warn" else line["level"]
        getattr(self.job.log, level)(line["message"], **line["fields"])

    async def _tell(self, _: Any) -> None:
        self.emit("context", context_of(self.input, self.job))

    async def _transaction(self, work: dict[str, Any]) -> Returned:
        async with self.job.transaction() as connection:
            await connection.execute(work["sql"])
            self.job.set_result(work.get("return"))
        return Returned(work.get("return"))

    async def _swallow(self, steps: Steps) -> None:
        try:
            await self.play(steps)
        except BaseException:  # noqa: BLE001 - a handler that catches everything is what the scenario tests
            return

    async def _late(self, late: dict[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._play_late(late["gate"], late["steps"]))
        _BACKGROUND.add(task)
        task.add_done_callback(_BACKGROUND.discard)

    async def _play_late(self, gate: str, steps: Steps) -> None:
        await self.gates.opened(gate)
        message = None
        try:
            await self.play(steps)
        except Exception as error:  # noqa: BLE001 - the event reports it
            message = str(error)
        self.emit("late", {"job": self.job.id, "error": message})


def handlers_of(request: dict[str, Any], gates: Gates, emit: Emit) -> list[JobHandler[Any, Any]]:
    definitions = request.get("definitions") or {}
    return [_handler(type, attempts, definitions, gates, emit) for type, attempts in request["handlers"].items()]


def _handler(
    type: str, attempts: Sequence[Steps], definitions: dict[str, Any], gates: Gates, emit: Emit
) -> JobHandler[Any, Any]:
    definition = definition_of(type, definitions)

    async def run(input: Any, job: JobContext[Any]) -> Any:
        emit("started", {"job": job.id, "type": type, "attempt": job.attempt, "tenant_id": job.tenant})
        steps = attempts[min(job.attempt, len(attempts)) - 1]

        def performed(name: str) -> None:
            emit("step", {"job": job.id, "name": name, "attempt": job.attempt})

        durable = DurablePlaying(job, definitions, performed, error_of)
        return await Playing(input, job, definitions, gates, emit, durable).play(steps)

    size = definitions.get(type, {}).get("batch_size")
    if size is None:
        return definition.handler(run)

    async def run_batch(items: Sequence[BatchItem[Any]]) -> list[Any]:
        emit("context", {"batch": len(items)})
        calls = [run(item.input, item.job) for item in items]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    return definition.batch_handler(size)(run_batch)


def error_of(error: dict[str, Any]) -> Exception:
    """An error of a class of this name."""
    made: Exception = type(error["name"], (Exception,), {})(error["message"])
    if "code" in error:
        made.code = error["code"]  # type: ignore[attr-defined]
    return made


def plain(input: Any) -> Any:
    return input.model_dump(mode="json") if hasattr(input, "model_dump") else input


def context_of(input: Any, job: JobContext[Any]) -> dict[str, Any]:
    names = ("id", "type", "attempt", "max_attempts", "trace_id", "traceparent", "subject", "tags")
    times = ("run_at", "created_at", "scheduled_for")
    return {
        **{name: to_fields(getattr(job, name)) for name in (*names, *times)},
        "tenant_id": job.tenant,
        "input": plain(input),
        "schedule": to_fields(job.schedule),
    }
