"""Durable steps of handlers, from a scenario's data. What they return is collected for `return_results`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .definitions import definition_of
from .workflows import add_all, workflow_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobforge import JobContext, NewJob, NewWorkflow, Saga


class DurablePlaying:
    def __init__(
        self,
        job: JobContext[Any],
        definitions: dict[str, Any],
        performed: Callable[[str], None],
        error_of: Callable[[dict[str, Any]], Exception],
    ) -> None:
        self._job = job
        self._definitions = definitions
        self._performed = performed
        self._error_of = error_of
        self.saga: Saga | None = None
        self.results: list[Any] = []

    async def step(self, step: dict[str, Any]) -> None:
        name = step["name"]

        def work() -> Any:
            self._performed(name)
            if "throw" in step:
                raise self._error_of(step["throw"])
            return step.get("value")

        if self.saga is not None:
            undo = self._performed
            value = await self.saga.step(name, work, undo=lambda _: undo(f"undo {name}"))
        elif "retries" in step:
            value = await self._job.step(name, work, retries=step["retries"], backoff=0.001)
        else:
            value = await self._job.step(name, work)
        self.results.append(value)

    async def sleep(self, when: dict[str, Any]) -> None:
        await self._job.sleep(when["seconds"])

    async def wait_for(self, wait: dict[str, Any]) -> None:
        reply = await self._job.wait_for(wait["signals"], timeout=wait.get("timeout"))
        self.results.append({"timed_out": reply.timed_out, "signal": reply.signal, "payload": reply.payload})

    async def run(self, call: dict[str, Any]) -> None:
        self.results.append(await self._job.run(self._child(call)))

    async def all(self, calls: dict[str, Any]) -> None:
        children = [self._child(call) for call in calls["calls"]]
        if calls.get("settled"):
            ends = await self._job.all(children, settled=True)
            self.results.append([end.status for end in ends])
        else:
            self.results.append(await self._job.all(children))

    async def version(self, name: str) -> None:
        self.results.append(await self._job.version(name))

    async def add_steps(self, steps: list[dict[str, Any]]) -> None:
        self._job.add_steps(lambda w: add_all(w, steps, None, self._definitions))

    def _child(self, call: dict[str, Any]) -> NewJob[Any] | NewWorkflow[Any]:
        """A child is a job of a type, or a workflow."""
        if "workflow" in call:
            return workflow_of(call["workflow"], self._definitions).new(call.get("payload", {}))
        return self._job.call(definition_of(call["type"], self._definitions), call.get("payload", {}))
