"""The checkpoints of one run in the database: what earlier executions have saved, and what this one saves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import JobForgeError
from ...fast import loads
from ...jsontext import JsonText, dumps
from ...operations.prepare import prepare_child
from ...operations.workflows import prepare_start
from ...workflows.start import NewWorkflow
from ..defaults import CALL_TIMEOUT
from ..errors import RunOver, is_not_held

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...definition import NewJob
    from ...workflows.builder import AddedSteps
    from .context import RunContext
    from .durable import Checkpoint
    from .services import RunServices


class RunStore:
    def __init__(self, context: RunContext, services: RunServices) -> None:
        self._context = context
        self._run = context.held_run
        self._services = services
        self.fence: dict[str, object] = {
            "p_job_id": self._run.id,
            "p_worker_id": services.kernel.worker_id,
            "p_attempt": self._run.attempt,
        }

    @property
    def job_id(self) -> str:
        return self._run.id

    @property
    def runs_again(self) -> bool:
        verdict = self._run.verdict
        return verdict is not None and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether the handler has called `fail()`."""
        verdict = self._run.verdict
        return verdict is not None and verdict["status"] == "failed" and verdict.get("retry") is False

    def require_open(self) -> None:
        run = self._run
        is_suspended = run.verdict is not None and run.verdict["status"] == "suspended"
        if run.aborted is not None or run.state != "running" or is_suspended:
            raise RunOver("The run is over")

    def suspend(self, wait: Mapping[str, Any]) -> NoReturn:
        self.require_open()
        self._run.verdict = {"status": "suspended", "wait": wait}
        raise RunOver(f"The run is suspended: {wait['name']}")

    def time_of(self, when: Any) -> str:
        return self._context.time_of(when)

    def child(self, call: NewJob[Any] | NewWorkflow[Any]) -> Any:
        if isinstance(call, NewWorkflow):
            options = {"traceparent": self._context.traceparent, **call.options}
            prepared = prepare_start(call.workflow, call.input, self._context.tenant, options)
            keys = json.loads(prepared.json())
            return {"workflow": keys.pop("name"), **keys}
        shared = {"traceparent": self._context.traceparent}
        return json.loads(prepare_child(call.using(tenant=self._context.tenant), shared).json())

    async def load(self) -> Mapping[str, Checkpoint]:
        found: dict[str, Checkpoint] = {}
        # A first execution has nothing to load.
        after: str | None = None
        while self._run.attempt > 1:
            args = self.fence if after is None else {**self.fence, "p_after": after}
            page = await self._call("jobforge_load_steps", args)
            found.update((each["name"], each) for each in page["steps"])
            after = page["cursor"]
            if after is None:
                break
        return found

    async def save(self, checkpoint: Checkpoint) -> None:
        reply = await self._call("jobforge_save_steps", {**self.fence, "p_steps": [checkpoint]})
        if reply["cancel_requested"]:
            self._services.cancel(self._run)

    async def take(self, wait: str) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = await self._call("jobforge_take_signal", {**self.fence, "p_wait": wait})
        return reply

    async def results(self, wait: str) -> Sequence[Mapping[str, Any]]:
        results: list[Mapping[str, Any]] = []
        after: int | None = -1
        while after is not None:
            page = await self.results_after(wait, after)
            results.extend(page["items"])
            after = page["next"]
        return results

    async def results_after(self, step: str, after: int) -> Mapping[str, Any]:
        args = {**self.fence, "p_step": step, "p_after": after}
        page: dict[str, Any] = await self._call("jobforge_read_results", args)
        for item in page["items"]:
            item["result"] = await self._services.offloading.read(self._run, item.get("result"))
        return page

    async def add_steps(self, steps: AddedSteps, *, detached: bool) -> Mapping[str, Any]:
        args = {
            **self.fence,
            # That of the step of this run.
            "p_workflow_id": None,
            "p_tenant_id": self._context.tenant,
            "p_steps": JsonText(dumps(steps.json)),
            "p_detached": detached,
        }
        reply: Mapping[str, Any] = await self._call("jobforge_add_steps", args)
        return reply

    async def _call(self, name: str, args: Mapping[str, object]) -> Any:
        try:
            text = await self._services.kernel.transport.call(name, args, timeout=CALL_TIMEOUT)
        except JobForgeError as error:
            if is_not_held(error):
                self._services.lost(self._run)
            raise
        return None if text is None else loads(text)
