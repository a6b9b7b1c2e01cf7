"""Assertions about the jobs that the code under test has enqueued."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ..errors import JobForgeError
from ..losses import json_form
from ..operations.prepare import definition_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..aio.forge import AsyncJobForge
    from ..arguments import Tenant
    from ..records import Job
    from ..words import JobStatus

_SHOWN_JOBS: Final = 20
_SHOWN_PAYLOAD: Final = 300


async def assert_enqueued(
    forge: AsyncJobForge,
    job: Any = None,
    payload: Any = None,
    *,
    tenant: Tenant | None = None,
    status: JobStatus | Sequence[JobStatus] | None = None,
    tags: Sequence[str] | None = None,
    subject: str | None = None,
    count: int | None = None,
) -> list[Job]:
    """Fails unless such jobs have been enqueued. Returns them, newest first, so that a test can check more of them.

    `payload` has properties that the payload has, among others. Without `tenant`, jobs of all tenants count, which only
    an operator or the owner may read. `count` is the exact number. Default: at least one.
    """
    found = await _find(forge, job, payload, tenant, status=status, tags=tags, subject=subject)
    if len(found) == count or (count is None and found):
        return found
    wanted = "at least one job" if count is None else f"{count} jobs"
    raise AssertionError(await _message(forge, wanted, job, payload, tenant, len(found)))


async def refute_enqueued(
    forge: AsyncJobForge,
    job: Any = None,
    payload: Any = None,
    *,
    tenant: Tenant | None = None,
    status: JobStatus | Sequence[JobStatus] | None = None,
    tags: Sequence[str] | None = None,
    subject: str | None = None,
) -> None:
    """Fails if such a job has been enqueued. The message shows the jobs that there are."""
    found = await _find(forge, job, payload, tenant, status=status, tags=tags, subject=subject)
    if found:
        raise AssertionError(await _message(forge, "no job", job, payload, tenant, len(found)))


async def _find(forge: AsyncJobForge, job: Any, payload: Any, tenant: Tenant | None, **filters: Any) -> list[Job]:
    wanted = None if payload is None else json_form(payload, "payload")
    jobs = forge.jobs.search(job=job, **filters) if tenant is None else forge.list(tenant=tenant, job=job, **filters)
    return [each async for each in jobs if wanted is None or _includes(each.payload, wanted)]


def _includes(value: Any, wanted: Any) -> bool:
    """Whether a JSON value has everything that another one has. Lists are whole."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            key in value and _includes(value[key], part) for key, part in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(_includes(one, part) for one, part in zip(value, wanted, strict=True))
        )
    return bool(value == wanted and type(value) is type(wanted))


async def _message(forge: AsyncJobForge, wanted: str, job: Any, payload: Any, tenant: Tenant | None, found: int) -> str:
    of_type = "" if job is None else f" of type {definition_of(job).type}"
    of_tenant = "" if tenant is None else f" of tenant {tenant}"
    with_payload = "" if payload is None else f" with payload {json.dumps(json_form(payload, 'payload'))}"
    return f"Expected {wanted}{of_type}{of_tenant}{with_payload}, found {found}.\n{await _describe(forge, tenant)}"


async def _describe(forge: AsyncJobForge, tenant: Tenant | None) -> str:
    """The newest jobs of all tenants. A caller who may not read those gets the jobs of its tenant."""
    try:
        page = await forge.jobs.search(page_size=_SHOWN_JOBS).page()
    except JobForgeError:
        if tenant is None:
            raise
        page = await forge.list(tenant=tenant, page_size=_SHOWN_JOBS).page()
    if not page.items:
        return "There are no jobs."
    more = "" if page.cursor is None else "\n  … and older ones"
    return "These jobs exist, newest first:\n" + "\n".join(_line(each) for each in page.items) + more


def _line(job: Job) -> str:
    text = json.dumps(job.payload)
    shown = text if len(text) <= _SHOWN_PAYLOAD else f"{text[:_SHOWN_PAYLOAD]}…"
    return f"  {job.type} {job.status}, tenant {job.tenant}: {shown}"
