"""Recurring work: schedules that an application creates and changes while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..operations import schedules as calls
from ..operations.schedules import ScheduleId
from ..words import UNSET
from .groups import Group
from .listing import List

if TYPE_CHECKING:
    import builtins
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from ..arguments import Tenant
    from ..definition import JobDefinition
    from ..operations.filters import ScheduleFilters
    from ..records import BulkResult, Job
    from ..schedule import ScheduleChanges, ScheduleOptions
    from ..schedule_records import Schedule, ScheduleCount
    from ..words import JobStatus, ScheduleOrder

In = TypeVar("In")
Key: TypeAlias = str | ScheduleId


class Schedules(Group):
    """A schedule is named by its job, its key (or its `ScheduleId`) and its tenant.

    Calls that need an existing schedule raise a ScheduleNotFoundError if it does not exist.
    """

    def ensure(
        self,
        job: JobDefinition[In, Any],
        key: str,
        *,
        tenant: Tenant,
        payload: In | Any = UNSET,
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Creates the schedule, or changes it so that it has these options. Idempotent, from any number of processes.

        An existing schedule keeps its next run and stays enabled or disabled, unless the options set these or change
        the rhythm. Raises an InvalidScheduleError that names the invalid option.
        """
        return self._runner.run(calls.ensure(job, key, tenant, payload, options))

    def update(
        self, job: JobDefinition[Any, Any], key: Key, *, tenant: Tenant, **changes: Unpack[ScheduleChanges]
    ) -> Schedule:
        """Changes the given options and leaves the others. None sets the default."""
        return self._runner.run(calls.update(job, key, tenant, changes))

    def get(self, job: JobDefinition[Any, Any], key: Key, *, tenant: Tenant) -> Schedule | None:
        """The schedule as it is now; None if there is none."""
        return self._runner.run(calls.get(job, key, tenant))

    def list(
        self,
        *,
        tenant: Tenant | None = None,
        order: ScheduleOrder | None = None,
        page_size: int | None = None,
        **filters: Unpack[ScheduleFilters],
    ) -> List[Schedule]:
        """The schedules of a tenant, or for operators of all tenants, by tenant, type and key."""
        return List(self._runner, calls.list_schedules(tenant, order, page_size, filters))

    def count(self, *, tenant: Tenant | None = None) -> builtins.list[ScheduleCount]:
        """How many schedules there are of each type, and what they do."""
        return self._runner.run(calls.count(tenant))

    def runs(
        self,
        job: JobDefinition[Any, Any],
        key: Key,
        *,
        tenant: Tenant,
        status: JobStatus | Sequence[JobStatus] | None = None,
        page_size: int | None = None,
    ) -> List[Job]:
        """The runs of a schedule, newest first, as far as its type keeps history."""
        return List(self._runner, calls.runs(job, key, tenant, status, page_size))

    def enable(self, job: JobDefinition[Any, Any], key: Key, *, tenant: Tenant) -> Schedule:
        """Enables the schedule: it runs at its next time, or at once if that has passed."""
        return self._runner.run(calls.steer("enable", job, key, tenant))

    def disable(self, job: JobDefinition[Any, Any], key: Key, *, tenant: Tenant) -> Schedule:
        """Disables the schedule. A running run goes on; a queued one is removed from the queue."""
        return self._runner.run(calls.steer("disable", job, key, tenant))

    def set_enabled(self, job: JobDefinition[Any, Any], key: Key, enabled: bool, *, tenant: Tenant) -> Schedule:
        """Enables or disables the schedule. If the decision depends on other rows, lock the schedule first."""
        return self._runner.run(calls.set_enabled(job, key, tenant, enabled))

    def run(self, job: JobDefinition[Any, Any], key: Key, *, tenant: Tenant) -> Schedule:
        """Requests a run now, in addition to the next one. During a run, the requested run follows right after it."""
        return self._runner.run(calls.steer("run", job, key, tenant))

    def delete(self, job: JobDefinition[Any, Any], key: Key, *, tenant: Tenant) -> None:
        """Deletes the schedule. A running run goes on."""
        self._runner.run(calls.delete(job, key, tenant))

    def delete_many(
        self, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[ScheduleFilters]
    ) -> BulkResult:
        """Deletes schedules that match the filters, such as those disabled long ago. Repeat it until none match."""
        return self._runner.run(calls.delete_many(tenant, limit, filters))


class TransactionSchedules(Schedules):
    """The same calls in a transaction, and `lock`, which needs one."""

    def lock(self, job: JobDefinition[Any, Any], key: Key, *, tenant: Tenant) -> Schedule:
        """Locks the schedule until the transaction ends, so that what the next statement reads is still true then.

        Waits for other applications that hold the lock. No worker waits for it.
        """
        return self._runner.run(calls.steer("lock", job, key, tenant))
