"""This package has what the packages for TypeScript have: methods, their options, and what they return.

The other side is read by the compiler of TypeScript, so that nothing can be added to it alone.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import jobforge
from jobforge import AsyncJobForge, JobForge

SCRIPT = Path(__file__).parent / "support" / "parity.js"

OTHER_METHODS = {
    "with": "on",  # `with` is a word of Python.
    "artifacts.offload": "offload_payload",  # Results are a method of their own: `offload_result`.
}
OTHER_NAMES = {
    "tenantId": "tenant",
    "tenantIds": "tenants",
    "from": "since",
    "to": "until",
    "Difference.from": "before",
    "Difference.to": "after",
    "JobDefinition.handle": "handler",
    "JobDefinition.handleBatch": "batch_handler",
    "JobForge.with": "on",
    "JobLogger.warn": "warning",  # As in the module `logging`.
    "JobContext.signal": "abort_reason",  # With raise_if_aborted() and wait_aborted().
    "ScheduleDefinition.rhythm": "settings",
}
"""What has another name here. Durations are seconds, so names that end in `Ms` lose that end as well."""

SKIPPED_GROUPS = {"signals", "waker"}
"""Inner parts of the client, which no documentation names."""
SKIPPED_OPTIONS = {"signal"}
"""Calls are given up by cancelling their task, or by a time limit."""
SKIPPED_PARAMETERS = {"artifacts.offload.__1", "job", "key", "store", "tx", "workflow"}
"""Parameters that are objects of the application or of this package, and no options."""
TYPES_ONLY = {"workflows.get.workflow"}
"""Options that only give a result its type in TypeScript."""

OPTIONS = re.compile(r"(Options|Filters|Changes|Reference|Settings|Rhythm)$")
"""Interfaces of options: each method is compared with the options that it takes."""
OTHER_CLASSES = {
    "JobAbortedError": "JobAborted",
    "JobForge": "AsyncJobForge",
    "JobForgeClient": "AsyncClient",
    "ListedTenant": "TenantInfo",
    "ScheduleBulkResult": "BulkResult",
    "WorkerHooks": "Hooks",
}
ELSEWHERE = {
    "AnyStep": "A base class; Step and MapStep are compared.",
    "Bounds": "A fixed word; test_shared compares the bounds.",
    "ChildCall": "The type of job.call(…), which needs no name here.",
    "ChildError": "JSON; a dict here.",
    "ErrorDetails": "The members of JobForgeError.",
    "ErrorParts": "JSON; a dict here.",
    "Health": "JSON; a dict with the keys of jobforge_health here.",
    "JobFailure": "JSON; a dict here.",
    "LogMethod": "A type of a function.",
    "NotSupportedError": "For backends other than Postgres.",
    "OfTenant": "The argument `tenant`.",
    "RunConnection": "The connection of psycopg itself.",
    "RunError": "JSON of the kernel.",
    "SignalTimeout": "JSON; a dict here.",
    "StoredValue": "JSON; a dict here.",
    "WebhookEvent": "The arguments of webhooks.send.",
    "WorkflowGraph": "JSON; a dict here.",
    **dict.fromkeys(
        ("DrizzleTransaction", "KnexTransaction", "KyselyTransaction", "PgClient", "PgPool", "PrismaTransaction"),
        "Libraries of Node.",
    ),
    **dict.fromkeys(("Listener", "ListenEvents", "PreparedJob", "PreparedStart", "SqlExecutor"), "Inner parts."),
    **dict.fromkeys(
        (
            "ChildKey",
            "EnqueueJobInput",
            "HarmonykJob",
            "HeldJobs",
            "Hold",
            "JobForgeJobQueue",
            "JobForgeJobsRepository",
            "JobQueue",
            "JobsRepository",
            "MemoryJobQueue",
            "MemoryQueueJob",
            "Parent",
            "QueueJob",
            "StageHold",
            "StageQueue",
        ),
        "The interfaces of older designs, which were in TypeScript.",
    ),
}
"""What the packages for TypeScript export and this one does not, with the reason."""
ELSEWHERE_MEMBERS = {
    "Artifacts.offload": "It is offload_payload and offload_result.",
    "JobHandler.run": "The worker calls it by its function, in a thread, a process or on the loop.",
    "HttpOptions.fetch": "An application passes a client of httpx2.",
    "PostgresOptions.pool": "The pool is our own; max_connections is its size.",
    "StartOptions.tenantId": "An argument of its own.",
    "Transport.download": "The transports over HTTP have it.",
    "Transport.upload": "The transports over HTTP have it.",
}


@pytest.fixture(scope="module")
def theirs() -> Any:
    return json.loads(subprocess.run(["node", str(SCRIPT)], capture_output=True, text=True, check=True).stdout)


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def own_name(name: str, of: str = "") -> str:
    return OTHER_NAMES.get(f"{of}.{name}") or OTHER_NAMES.get(name) or snake(name).removesuffix("_ms")


def own_classes() -> dict[str, type]:
    """All classes of the package, by name. Those that `jobforge` itself exports count more."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(jobforge.__path__, "jobforge."):
        if not re.search(r"\.(django|connectors|blocking|__main__|plugin)\b", module.name):
            for name, each in vars(importlib.import_module(module.name)).items():
                if inspect.isclass(each) and each.__module__ == module.name:
                    found.setdefault(name, each)
    exported = {name: getattr(jobforge, name) for name in jobforge.__all__}
    return found | {name: each for name, each in exported.items() if inspect.isclass(each)}


def source_of(of: type) -> str:
    # A TypedDict that is made by a call has no source.
    return "" if of.__bases__ == (dict,) else inspect.getsource(of)


def members(of: type) -> set[str]:
    """Methods, fields, and what methods set."""
    own = [each for each in of.__mro__ if each.__module__.startswith("jobforge")]
    fields = {name for each in own for name in vars(each).get("__annotations__", {})}
    sets = {name for each in own for name in re.findall(r"\bself\.(\w+)\b(?=:| =)", source_of(each))}
    return {*dir(of), *fields, *sets}


def parameters(of: Any, classes: dict[str, type]) -> set[str]:
    """The names of parameters, with the keys of `**options: Unpack[Options]`."""
    found = set()
    for name, parameter in inspect.signature(of).parameters.items():
        unpacked = re.search(r"Unpack\[(\w+)\]", str(parameter.annotation))
        found |= {name} if unpacked is None else set(classes[unpacked[1]].__annotations__)
    return found


@pytest.mark.parametrize("client", [AsyncJobForge, JobForge])
def test_every_method_is_here_with_every_option(theirs: Any, client: type[AsyncJobForge | JobForge]) -> None:
    forge = client(url="http://127.0.0.1:1", token="t")
    classes = own_classes()
    missing = []
    for group, methods in theirs["methods"].items():
        for method, arguments in methods.items():
            path = f"{group}.{method}".removeprefix(".")
            owner = getattr(forge, group, None) if group else forge
            own = getattr(owner, OTHER_METHODS.get(path, own_name(method)), None)
            if group.strip("#") in SKIPPED_GROUPS:
                continue
            if own is None:
                missing.append(path)
                continue
            known = parameters(own, classes) if callable(own) else set()
            wanted = [
                name
                for each, names in arguments.items()
                if not {each, f"{path}.{each}"} & SKIPPED_PARAMETERS
                for name in names
            ]
            missing += [
                f"{path}.{name}"
                for name in wanted
                if name not in SKIPPED_OPTIONS and f"{path}.{name}" not in TYPES_ONLY and own_name(name) not in known
            ]
    assert len(theirs["methods"]) > 10
    assert missing == []


@pytest.mark.parametrize("client", [AsyncJobForge, JobForge])
@pytest.mark.parametrize("options", ["GatherOptions", "HttpOptions", "PostgresOptions", "StoreOptions"])
def test_a_client_takes_every_option(theirs: Any, client: type[AsyncJobForge | JobForge], options: str) -> None:
    names = {own_name(name) for name in theirs["interfaces"][options] if f"{options}.{name}" not in ELSEWHERE_MEMBERS}
    assert names <= set(inspect.signature(client).parameters)


def test_every_class_is_here_with_every_member(theirs: Any) -> None:
    classes = own_classes()
    missing = []
    for name, names in theirs["interfaces"].items():
        if name in ELSEWHERE or (OPTIONS.search(name) and name not in classes):
            continue
        own = classes.get(OTHER_CLASSES.get(name, f"Async{name}")) or classes.get(name)
        if own is None:
            missing.append(name)
            continue
        known = members(own)
        missing += [
            f"{name}.{each}"
            for each in names
            if f"{name}.{each}" not in ELSEWHERE_MEMBERS
            and (each != "name" or not issubclass(own, BaseException))
            and not known & {own_name(each, name), snake(each)}
        ]
    assert len(theirs["interfaces"]) > 200
    assert missing == []


def test_no_exception_is_left_over(theirs: Any) -> None:
    known = {f"{name}.{each}" for name, names in theirs["interfaces"].items() for each in names}
    named = [name for name in OTHER_NAMES if "." in name]
    assert [name for name in [*named, *ELSEWHERE_MEMBERS] if name not in known] == []
    assert [name for name in [*OTHER_CLASSES, *ELSEWHERE] if name not in theirs["interfaces"]] == []
