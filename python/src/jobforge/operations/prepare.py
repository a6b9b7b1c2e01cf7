"""Turns a definition, an input and options into arguments of the kernel: checked, and serialized once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..arguments import (
    check_bool,
    check_one_of,
    check_range,
    check_tags,
    check_tenant,
    check_text,
    check_time,
    check_traceparent,
    check_uuid,
    describe,
    milliseconds,
    refuse,
)
from ..artifacts.stored_value import MAX_OFFLOAD_BYTES, OFFLOAD_BYTES
from ..definition import JobDefinition, NewJob
from ..errors import InvalidArgumentError
from ..function_job import FunctionJob
from ..jsontext import JsonText, dumps, form_to_json
from ..suggest import check_known
from ..telemetry import active_traceparent
from ..webhook import NotifyOptions
from ..words import BOUNDS, MAX_PAYLOAD_BYTES, UNSET, DedupeMode, NotifyStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

Check = Callable[[object, str], object]


def _notify(value: object, field: str) -> dict[str, object]:
    """Whom a webhook tells about the end. The kernel checks the URL and the name of the secret."""
    hint = 'Pass {"url": "https://example.com/done"} or {"endpoint_id": …}.'
    if not isinstance(value, Mapping):
        refuse(field, f"must be a dict, not {describe(value)}", hint)
    check_known(value, NotifyOptions.__annotations__, at=f"{field}.")
    if ("url" in value) == ("endpoint_id" in value):
        refuse(field, "must have one of url and endpoint_id", hint)
    if "endpoint_id" in value:
        check_uuid(value["endpoint_id"], f"{field}.endpoint_id")
    notify = dict(value)
    if "on" in notify:
        notify["on"] = [check_one_of(each, f"{field}.on", NotifyStatus) for each in notify["on"]]
    return notify


_CHECKS: Final[Mapping[str, tuple[str, Check]]] = {
    "idempotency_key": ("idempotency_key", check_text),
    "dedupe_key": ("dedupe_key", check_text),
    "dedupe_mode": ("dedupe_mode", lambda value, field: check_one_of(value, field, DedupeMode)),
    "run_at": ("run_at", check_time),
    "delay": ("delay_ms", lambda value, field: milliseconds(value, field, BOUNDS["delay_ms"])),
    "expires_at": ("expires_at", check_time),
    "max_attempts": ("max_attempts", lambda value, field: check_range(value, field, BOUNDS["max_attempts"])),
    "priority": ("priority", lambda value, field: check_range(value, field, BOUNDS["priority"])),
    "tags": ("tags", check_tags),
    "subject": ("subject", check_text),
    "concurrency_key": ("concurrency_key", check_text),
    "traceparent": ("traceparent", check_traceparent),
    "notify": ("notify", _notify),
}
"""Each option of an enqueue, with its key in the kernel and its check."""

_ALL_ATTEMPTS: Final = "Did you mean max_attempts? It counts all executions: the first one and the retries."
ALIASES: Final = {
    "tenantid": "tenant",
    "orgid": "tenant",
    "delayseconds": "delay",
    "delayms": "Did you mean delay? It counts seconds.",
    "countdown": "delay",
    "in": "delay",
    "eta": "run_at",
    "at": "run_at",
    "scheduleat": "run_at",
    "startafter": "Did you mean run_at, or delay?",
    "retries": _ALL_ATTEMPTS,
    "maxretries": _ALL_ATTEMPTS,
    "attempts": "max_attempts",
    "retry": "Did you mean max_attempts? The waits between retries are in the definition: define_job(retry=…).",
    "lock": "dedupe_key",
    "queueinglock": "dedupe_key",
    "jobid": "idempotency_key",
    "taskid": "idempotency_key",
    "uniquekey": "Did you mean dedupe_key (one live job), or idempotency_key (one job for good)?",
    "queue": "Jobs are routed by the type of their definition; there are no other queues.",
    "expires": "expires_at",
    "timeout": "The timeout is in the definition: define_job(timeout=…).",
    "cron": "Recurring work is a schedule: forge.schedules.ensure(job, key, cron=…).",
    "payload": "The input is the second argument: enqueue(job, input, tenant=…).",
    "args": "The input is the second argument: enqueue(job, input, tenant=…).",
    "kwargs": "The input is the second argument: enqueue(job, input, tenant=…).",
}
"""What other job libraries call the options."""


@dataclass(frozen=True, slots=True)
class PreparedJob:
    """A job that has been checked."""

    definition: JobDefinition[Any, Any]
    tenant: str
    payload: JsonText
    keys: Mapping[str, object]
    """The other options, under the kernel's keys."""
    offload: bool = False
    """Whether a large payload goes to the artifact store."""

    @property
    def is_large(self) -> bool:
        """Whether the payload must be stored outside of the database."""
        # A character has at most four bytes.
        text = self.payload.text
        return self.offload and len(text) * 4 > OFFLOAD_BYTES and len(text.encode()) > OFFLOAD_BYTES

    def json(self) -> str:
        """An element of `p_jobs` of jobforge_enqueue_jobs, or of the children of a run."""
        keys = {"type": self.definition.type, **{key: _plain(value) for key, value in self.keys.items()}}
        return f'{dumps(keys)[:-1]},"payload":{self.payload.text}}}'

    def arguments(self) -> dict[str, object]:
        """The arguments of jobforge_enqueue_job."""
        args: dict[str, object] = {
            "p_tenant_id": self.tenant,
            "p_type": self.definition.type,
            "p_payload": self.payload,
        }
        # p_notify says whether the call wakes workers.
        args.update(("p_notify_to" if key == "notify" else f"p_{key}", value) for key, value in self.keys.items())
        return args


def _plain(value: Any) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else value


def definition_of(job: object, at: str = "") -> JobDefinition[Any, Any]:
    """The definition that a caller means. Functions that `@job` has decorated have one."""
    if isinstance(job, JobDefinition):
        return job
    if isinstance(job, FunctionJob):
        return job.definition
    field = f"{at}job"
    if isinstance(job, str):
        hint = f"Define the job once with define_job({job[:200]!r}), and pass the definition."
        refuse(field, f"must be a definition, not the text {job[:200]!r}", hint)
    hint = "Pass what define_job(type) returns."
    return refuse(field, f"must be a definition, not {describe(job)}", hint)


def new_job(job: object, input: object, at: str = "") -> NewJob[Any]:
    """A job to enqueue: from a definition and an input, or as the caller has made it."""
    if isinstance(job, NewJob):
        if input is not UNSET:
            refuse(f"{at}input", "must not be given twice", "definition.new(input) has the input already.")
        return job
    if input is UNSET:
        hint = "Pass {} for a job that needs no input. For a function, pass function.new(…)."
        refuse(f"{at}input", "is required", hint)
    if isinstance(job, FunctionJob) and not isinstance(input, Mapping):
        hint = "Pass function.new(…), which takes the arguments of the function."
        refuse(f"{at}input", f"must be a dict of the arguments, not {describe(input)}", hint)
    return NewJob(definition_of(job, at), input)


def check_payload(
    definition: JobDefinition[Any, Any], input: object, field: str, max_bytes: int = MAX_PAYLOAD_BYTES
) -> tuple[JsonText, Any]:
    """The payload as JSON text, and what the handler will get. The schema checks the JSON form."""
    if input is None:
        refuse(field, "must not be None", "Pass {} for a job that needs no input.")
    form = definition.input.dump(input, field)
    json = form_to_json(form, field, max_bytes)
    return json, definition.input.load(form, field)


def prepare_job(job: NewJob[Any], shared: Mapping[str, object], at: str = "") -> PreparedJob:
    """Checks a job. Its own options count more than the shared ones. `at` is a prefix for the names of fields."""
    options = {name: value for name, value in {**shared, **job.options}.items() if value is not None}
    tenant = options.pop("tenant", None)
    check_known(options, [*_CHECKS, "tenant", "offload"], ALIASES, at=at)
    offload = check_bool(options.pop("offload", False), f"{at}offload")
    definition = job.definition
    most = MAX_OFFLOAD_BYTES if offload else MAX_PAYLOAD_BYTES
    payload, checked = check_payload(definition, job.input, f"{at}payload", most)
    keys = _keys(_completed(definition, options, checked, at), at)
    if definition.retry is not None and definition.retry.max_attempts is not None:
        keys["default_attempts"] = definition.retry.max_attempts
    return PreparedJob(definition, check_tenant(tenant, f"{at}tenant"), payload, keys, offload)


def prepare_child(job: NewJob[Any], shared: Mapping[str, object]) -> PreparedJob:
    """Checks a child. It is enqueued by the end of its parent, so its payload cannot be offloaded."""
    prepared = prepare_job(job, shared)
    if prepared.offload:
        message = "must not be True for a child"
        hint = "Store the content with forge.artifacts.put() and pass its reference, or use forge.enqueue()."
        refuse("offload", message, hint)
    return prepared


def _completed(
    definition: JobDefinition[Any, Any], options: Mapping[str, object], checked: object, at: str
) -> dict[str, object]:
    """The options with what the definition adds to them."""
    found = dict(options)
    if "dedupe_key" not in found and definition.dedupe is not None:
        found["dedupe_key"] = definition.dedupe(checked)
    if "dedupe_mode" not in found:
        found["dedupe_mode"] = definition.dedupe_mode
    if found["dedupe_mode"] is not None and found.get("dedupe_key") is None:
        if definition.dedupe is None:
            raise _no_dedupe_key(at)
        # The definition may leave an input without a key. Nothing is merged then.
        found["dedupe_mode"] = None
    if "subject" not in found and definition.subject is not None:
        found["subject"] = definition.subject(checked)
    if "priority" not in found:
        found["priority"] = definition.priority
    if definition.tags is not None:
        found["tags"] = _merged(definition.tags, found.get("tags"), f"{at}tags")
    if "traceparent" not in found:
        found["traceparent"] = active_traceparent()
    return {name: value for name, value in found.items() if value is not None}


def _merged(of_definition: Sequence[str], own: object, field: str) -> list[str]:
    return list(dict.fromkeys((*of_definition, *(check_tags(own, field) if own is not None else ()))))


def _keys(options: Mapping[str, object], at: str) -> dict[str, object]:
    keys: dict[str, object] = {}
    for name, value in options.items():
        key, check = _CHECKS[name]
        keys[key] = check(value, f"{at}{name}")
    if "run_at" in keys and "delay_ms" in keys:
        refuse(f"{at}delay", "must not be given together with run_at")
    run_at, expires_at = keys.get("run_at"), keys.get("expires_at")
    if run_at is not None and expires_at is not None and expires_at <= run_at:  # type: ignore[operator]
        refuse(f"{at}expires_at", "must be later than run_at, or the job would never start")
    return keys


def _no_dedupe_key(at: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"Invalid argument: {at}dedupe_mode has no effect without a dedupe_key",
        field=f"{at}dedupe_mode",
        hint="Pass dedupe_key as well, or give the definition a dedupe function that returns one.",
    )
