"""The calls of operators, in groups: `forge.gates.pause(…)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operations import jobs as job_calls
from ..operations import limits, operate
from ..words import BOUNDS, UNSET, Unset
from .listing import List
from .runner import Runner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from typing_extensions import Unpack

    from ..arguments import Duration, Tenant
    from ..operating import (
        AuditEntry,
        ChangedGate,
        ChangedLimit,
        Gate,
        Limit,
        ListedLimit,
        LiveCount,
        TenantInfo,
        TypeInfo,
        Usage,
        WorkerInfo,
    )
    from ..operations.filters import JobFilters
    from ..policies import Policy, PolicyChanges, PolicyReset
    from ..records import BulkResult, DeadGroup, Job, JobCount
    from ..words import AuditEntityType, BulkChange, Dimension, UsagePeriod


class Group:
    """Calls that share a client."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner


class AllJobs(Group):
    """The jobs of all tenants. For operators. A tenant may count its own jobs, and group its own dead ones."""

    def search(
        self,
        *,
        tenant: Tenant | None = None,
        job: Any = None,
        page_size: int | None = None,
        **filters: Unpack[JobFilters],
    ) -> List[Job]:
        """The jobs of all tenants, or of one, newest first."""
        return List(self._runner, job_calls.search(tenant, job, page_size, filters))

    def count(
        self, *, tenant: Tenant | None = None, change: BulkChange | None = None, **filters: Unpack[JobFilters]
    ) -> list[JobCount]:
        """How many jobs match the filters, by tenant, type and status. Looks at no more than the newest 100,000.

        With `change`: only jobs that this bulk change would change.
        """
        return self._runner.run(job_calls.count(tenant, change, filters))

    def purge(self, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[JobFilters]) -> BulkResult:
        """Forgets finished jobs that match the filters before their retention ends, with results and attempts."""
        return self._runner.run(job_calls.change_many("purge", tenant, limit, filters))

    def dead_groups(
        self, *, tenant: Tenant | None = None, limit: int | None = None, **filters: Unpack[JobFilters]
    ) -> list[DeadGroup]:
        """Failed and dead jobs by type and kind of error, the largest group first."""
        return self._runner.run(job_calls.dead_groups(tenant, limit, filters))


class Gates(Group):
    """Pauses of everything, a type or a tenant. Pausing and resuming are for operators. Readers may list."""

    def pause(
        self,
        *,
        type: str | None = None,
        tenant: Tenant | None = None,
        reason: str | None = None,
        until: datetime | None = None,
    ) -> ChangedGate:
        """Pauses a type, a tenant, or without either everything: no more jobs are claimed. Running jobs continue."""
        return self._runner.run(limits.set_gate(type, tenant, paused=True, reason=reason, until=until))

    def resume(self, *, type: str | None = None, tenant: Tenant | None = None) -> ChangedGate:
        """Ends a pause. If nothing was paused, `was_paused` is False."""
        return self._runner.run(limits.set_gate(type, tenant, paused=False))

    def list(self) -> list[Gate]:
        """What is paused now."""
        return self._runner.run(limits.list_gates())


class Limits(Group):
    """How many jobs run at once, and how many start in a time. Setting and removing are for operators.

    A limit counts a type, a tenant, a type of a tenant, or a concurrency `key` of a tenant and type. `"*"` stands for
    each one that has no limit of its own: `tenant="*"` limits every tenant by itself.
    """

    def set(
        self,
        *,
        type: str | None = None,
        tenant: Tenant | None = None,
        key: str | None = None,
        max_running: int | None = None,
        rate: int | None = None,
        per: str | None = None,
        burst: int | None = None,
    ) -> ChangedLimit:
        """Sets a limit and replaces an earlier one. Without any number, it exempts the key from the default.

        `rate` jobs may start in each `per`, such as `1 minute`, and `burst` at once after a quiet time.
        """
        return self._runner.run(limits.set_limit((type, tenant, key), max_running, rate, per, burst))

    def get(self, *, type: str | None = None, tenant: Tenant | None = None, key: str | None = None) -> Limit | None:
        """The limit of exactly this scope; None if there is none."""
        return self._runner.run(limits.get_limit((type, tenant, key)))

    def list(self) -> list[ListedLimit]:
        """All limits, with their use now."""
        return self._runner.run(limits.list_limits())

    def remove(self, *, type: str | None = None, tenant: Tenant | None = None, key: str | None = None) -> bool:
        """Removes a limit. The jobs that it held back can start. Returns False if there was no limit."""
        return self._runner.run(limits.remove_limit((type, tenant, key)))


class Policies(Group):
    """How the jobs of a type are retried, leased, kept and shown. For operators. Workers may get."""

    def get(self, type: str) -> Policy:
        """How a type behaves: its own policy, or the default one, whose `type` is then `*`."""
        return self._runner.run(operate.get_policy(type))

    def set(self, type: str, **changes: Unpack[PolicyChanges]) -> Policy:
        """Sets how a type behaves, or with `*` every type without a policy of its own. What is not given stays."""
        return self._runner.run(operate.set_policy(type, changes))

    def list(self, *, page_size: int | None = None) -> List[Policy]:
        """The default policy, whose type is `*`, and the policies that types have of their own, ordered by type."""
        return List(self._runner, operate.list_policies(page_size))

    def reset(self, type: str) -> PolicyReset:
        """Removes the policy of a type, so that the default applies. `*` resets the default policy itself."""
        return self._runner.run(operate.reset_policy(type))


class Tenants(Group):
    """Quotas, weights and logins of tenants. Setting and binding are for operators."""

    def get(self, tenant: Tenant) -> TenantInfo:
        """The settings of a tenant, and what it uses."""
        return self._runner.run(operate.get_tenant(tenant))

    def set(
        self,
        tenant: Tenant,
        *,
        label: str | None | Unset = UNSET,
        max_pending: int | None | Unset = UNSET,
        max_types: int | None | Unset = UNSET,
        max_schedules: int | None | Unset = UNSET,
        weight: int | Unset = UNSET,
    ) -> TenantInfo:
        """Changes settings of a tenant. A setting that is not given stays; None sets the default."""
        settings = {
            "label": label,
            "max_pending": max_pending,
            "max_types": max_types,
            "max_schedules": max_schedules,
            "weight": weight,
        }
        return self._runner.run(operate.set_tenant(tenant, settings))

    def list(self) -> list[TenantInfo]:
        """The tenants that have settings or have enqueued jobs, ordered by their ids."""
        return self._runner.do(operate.list_tenants())

    def bind_role(self, role: str, tenant: Tenant | None) -> None:
        """Binds a login to one tenant; None unbinds it."""
        self._runner.run(operate.bind_role(role, tenant))


class Workers(Group):
    """The workers of the installation. For operators and readers."""

    def list(self) -> list[WorkerInfo]:
        """The workers that send heartbeats, the last seen first."""
        return self._runner.run(operate.list_workers())


class JobTypes(Group):
    """The types of jobs in the installation. For operators and readers."""

    def list(self, *, span: Duration | None = None) -> list[TypeInfo]:
        """The types, with how many jobs of each wait, run and have finished within `span`. Default: one hour."""
        return self._runner.run(operate.list_types(span))


class UsageReports(Group):
    """What was used, and what is live now. For operators and readers; a tenant may read its own numbers."""

    def report(
        self,
        *,
        tenant: Tenant | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        bucket: UsagePeriod | None = None,
        by: Sequence[Dimension] | None = None,
        types: Sequence[str] | None = None,
        timezone: str | None = None,
    ) -> list[Usage]:
        """What was used: runs, how they ended, how long they waited and ran, what they cost.

        Default: the last day, by hour and type. While workers run, the numbers are at most ten seconds old.
        """
        call = operate.report_usage(tenant, since, until, bucket, by, types, timezone)
        return self._runner.run(call)

    def live(
        self, *, tenant: Tenant | None = None, by: Sequence[Dimension] | None = None, cap: int | None = None
    ) -> list[LiveCount]:
        """How many jobs are live now, and since when the oldest waits. More than `cap` jobs are estimated."""
        return self._runner.run(operate.count_live(tenant, by, cap))


class AuditLog(Group):
    """The audit log."""

    def list(
        self,
        *,
        tenant: Tenant | None = None,
        action: str | None = None,
        entity_type: AuditEntityType | None = None,
        entity_id: str | None = None,
        actor: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        page_size: int | None = None,
    ) -> List[AuditEntry]:
        """The entries, newest first: of one tenant, or of all, for operators."""
        filters = {
            "action": action,
            "entity_type": entity_type,
            "entity_id": entity_id,
            "actor": actor,
            "after": after,
            "before": before,
        }
        return List(self._runner, operate.list_audit(tenant, page_size, filters))


class Connectors(Group):
    """The configurations of connectors."""

    def get(self, type: str, *, tenant: Tenant) -> dict[str, Any] | None:
        """The configuration of a tenant's connector; None if it has none. For workers and operators."""
        return self._runner.run(operate.get_connector(tenant, type))

    def set(self, type: str, config: Mapping[str, Any] | None, *, tenant: Tenant) -> None:
        """Sets the configuration of a tenant's connector; None removes it.

        Store the names of the environment variables that hold secrets, not the secrets. For operators and
        `jobforge_app`.
        """
        self._runner.run(operate.set_connector(tenant, type, config))


class Installation(Group):
    """The installation itself: its health and its maintenance."""

    def health(self) -> dict[str, Any]:
        """Facts about the installation, for monitoring, as `jobforge_health` returns them."""
        return self._runner.run(operate.health())

    def maintain(self, limit: int = BOUNDS["maintain_limit"].default) -> None:
        """Does a slice of maintenance. Workers do this by themselves; for a cron job where there may be no worker."""
        self._runner.run(operate.maintain(limit))
