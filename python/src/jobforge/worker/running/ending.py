"""Turns the outcome of a handler into the end that is reported to the database."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...describe_error import describe_error
from ...errors import JobAborted
from ...jsontext import dumps, storable, to_storable_json
from ...schema import AnySchema
from ...words import MAX_PAYLOAD_BYTES
from ..reporting.kept_log import is_sent

if TYPE_CHECKING:
    from ..claiming.protocol import Verdict
    from .run import Run


@dataclass(frozen=True, slots=True)
class Returned:
    """What the handler of a run returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """What the handler of a run raised."""

    error: BaseException


Outcome = Returned | Raised


def no_outcome() -> Outcome:
    """The outcome of a run for which the handler returned nothing at all."""
    return Raised(RuntimeError("The handler returned no result for this job"))


RELEASED: Final[Verdict] = {"status": "released"}

_OVERSIZED: Final[Verdict] = {
    "status": "failed",
    "retry": False,
    "error": {"name": "InvalidResult", "message": "Payload too large: result is over 1 MiB"},
}


def end_run(run: Run, verdict: Verdict) -> None:
    """Sets the run's end. An end that cannot be written as JSON fails the job: a retry would give the same result."""
    is_plain = run.cost_cents is None and run.next_run_at is None
    if is_plain and verdict["status"] == "succeeded" and len(verdict) == 1:
        run.end = verdict
        run.end_json = _with_log(run, verdict, f'{{"id":"{run.id}","attempt":{run.attempt},"status":"succeeded"}}')
        return
    end: Verdict = {"id": run.id, "attempt": run.attempt, **verdict}
    if run.cost_cents is not None:
        end["cost_cents"] = run.cost_cents
    if run.next_run_at is not None:
        end["next_run_at"] = run.next_run_at
    try:
        text = _end_json(end)
    except Exception as error:  # noqa: BLE001 - details of fail() may be anything
        end_run(run, refusal(error))
        return
    # The database would fail the job as well, but then only its row would say why.
    if len(text) * 4 > MAX_PAYLOAD_BYTES and _is_oversized(verdict):
        end_run(run, _OVERSIZED)
        return
    run.end = end
    run.end_json = _with_log(run, verdict, text)


def _with_log(run: Run, verdict: Verdict, text: str) -> str:
    """Adds what the handler has logged to the end, unless the policy of the type does not want it."""
    if run.kept_log is None or not is_sent(run.type.keep_logs, verdict["status"]):
        return text
    return f'{text[:-1]},"logs":{run.kept_log.json()}}}'


def _end_json(end: Verdict) -> str:
    """The end as JSON. Its result is JSON already, as its children are."""
    rest = {key: value for key, value in end.items() if key not in ("result", "children")}
    text = to_storable_json(rest, "end").text
    if "result" in end:
        text = f'{text[:-1]},"result":{end["result"]}}}'
    if "children" in end:
        text = f'{text[:-1]},"children":[{",".join(end["children"])}]}}'
    return text


def _is_oversized(verdict: Verdict) -> bool:
    """Whether the database would refuse the result for its size. Postgres never prints it shorter than this."""
    result = verdict.get("result")
    return result is not None and len(result.encode()) > MAX_PAYLOAD_BYTES


def end_unreadable(run: Run, error: BaseException) -> None:
    """Replaces an end that the database cannot read by one that it can."""
    run.cost_cents = None
    run.next_run_at = None
    run.kept_log = None
    message = f"The end of the run was refused: {describe_error(error)['message']}"
    end_run(run, {"status": "failed", "retry": False, "error": {"name": "InvalidResult", "message": message}})


def conclude(run: Run, outcome: Outcome) -> Verdict:
    """The end of a run whose handler has returned or raised."""
    aborted = run.aborted
    if aborted is not None and aborted.kind == "timeout":
        return failure(aborted)
    if run.verdict is not None:
        return run.verdict
    if isinstance(outcome, Returned):
        return conclude_success(run, outcome.value)
    if outcome.error is run.refused:
        return refusal(outcome.error)
    if aborted is None:
        # A task is canceled from outside of its handler only if the program ends its event loop.
        is_ending = isinstance(outcome.error, asyncio.CancelledError) and _is_canceled()
        return RELEASED if is_ending else failure(outcome.error)
    if aborted.kind == "shutdown":
        return RELEASED
    return failure(aborted if aborted.kind == "canceled" else outcome.error)


def _is_canceled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def conclude_success(run: Run, value: object) -> Verdict:
    """The end of a run whose handler returned a value: a success, unless the value violates its definition."""
    output = run.type.handler.definition.output
    verdict: Verdict = {"status": "succeeded"}
    try:
        if value is not None or not isinstance(output, AnySchema):
            form = output.dump(value, "result")
            output.load(form, "output")
            if form is not None:
                verdict["result"] = storable(dumps(form))
    except Exception as error:  # noqa: BLE001 - a schema is the application's code
        return refusal(error)
    if run.children is not None:
        verdict["children"] = run.children
    if run.added is not None:
        steps, detached = run.added
        verdict["steps"], verdict["detached"] = steps.json, detached
    return verdict


def failure(thrown: BaseException) -> Verdict:
    """A failure that is retried as the policy says."""
    return {"status": "failed", "error": describe_error(thrown)}


def refusal(thrown: BaseException) -> Verdict:
    """A failure that is not retried, because a retry would fail in the same way."""
    return {"status": "failed", "retry": False, "error": describe_error(thrown)}


def timeout_reason(seconds: float, *, is_default: bool) -> JobAborted:
    message = f"The handler took longer than {seconds * 1000:.0f} ms"
    if is_default:
        message += ", the default. Set timeout in its definition; None means no limit"
    return JobAborted("timeout", message)


def canceled_reason() -> JobAborted:
    return JobAborted("canceled", "The job was canceled")


def lost_reason() -> JobAborted:
    return JobAborted("lost", "The lease was lost: another worker may run the job")


def shutdown_reason() -> JobAborted:
    return JobAborted("shutdown", "The worker is shutting down")
