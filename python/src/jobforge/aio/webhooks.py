"""Webhooks, and what connectors may reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operations import webhooks as calls
from ..words import UNSET
from .groups import AsyncGroup
from .listing import AsyncList

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping
    from datetime import datetime

    from typing_extensions import Unpack

    from ..arguments import Duration, Tenant
    from ..records import Job
    from ..webhook import (
        DeletedEndpoint,
        DeliveryFilters,
        EgressPolicies,
        EndpointOptions,
        EndpointTest,
        NewEndpointOptions,
        ReplayResult,
        SentEvent,
        WebhookEndpoint,
    )


class AsyncWebhooks(AsyncGroup):
    """Endpoints of webhooks: who is notified of the ends of a tenant's jobs, and of events of the application.

    For the tenant's server and operators; workers may `get` and `send`. Calls that name an endpoint raise an
    EndpointNotFoundError if the tenant does not have it.
    """

    async def create(self, *, tenant: Tenant, **options: Unpack[NewEndpointOptions]) -> WebhookEndpoint:
        """Creates an endpoint with this `url`. It gets the events of jobs that end from now on."""
        return await self._runner.run(calls.create(tenant, options))

    async def update(self, id: str, *, tenant: Tenant, **changes: Unpack[EndpointOptions]) -> WebhookEndpoint:
        """Changes the given settings of an endpoint; None sets one to its default."""
        return await self._runner.run(calls.update(id, tenant, changes))

    async def get(self, id: str, *, tenant: Tenant) -> WebhookEndpoint:
        """An endpoint as it is now."""
        return await self._runner.run(calls.get(id, tenant))

    async def list(self, *, tenant: Tenant) -> builtins.list[WebhookEndpoint]:
        """The endpoints of a tenant, the oldest first. There are at most 50."""
        return await self._runner.run(calls.list_endpoints(tenant))

    async def enable(self, id: str, *, tenant: Tenant) -> WebhookEndpoint:
        """The deliveries that wait for the endpoint go out, also those that its circuit breaker held back."""
        return await self._runner.run(calls.enable(id, tenant))

    async def disable(self, id: str, *, tenant: Tenant, reason: str | None = None) -> WebhookEndpoint:
        """Deliveries wait in the queue, also new ones, until the endpoint is enabled, or until they expire."""
        return await self._runner.run(calls.disable(id, tenant, reason))

    async def rotate(
        self, id: str, *, tenant: Tenant, keep: Duration | None = None, master_key: str | None = None
    ) -> WebhookEndpoint:
        """Gives the endpoint a new signing key.

        The key before signs as well for `keep`, up to 30 days, so that receivers can follow. Default: 24 hours.
        `master_key` is the name of the master key of the new key. Default: as before.
        """
        return await self._runner.run(calls.rotate(id, tenant, keep, master_key))

    async def delete(self, id: str, *, tenant: Tenant) -> DeletedEndpoint:
        """Deletes the endpoint and cancels its deliveries that are queued."""
        return await self._runner.run(calls.delete(id, tenant))

    async def test(self, id: str, *, tenant: Tenant) -> EndpointTest:
        """Sends the event `webhook.test`, on the same way as every other delivery."""
        return await self._runner.run(calls.test(id, tenant))

    async def send(
        self,
        type: str,
        data: Any = UNSET,
        *,
        tenant: Tenant,
        id: str | None = None,
        timestamp: datetime | None = None,
    ) -> SentEvent:
        """Sends an event of the application, such as `invoice.paid`, to the tenant's endpoints that want it.

        In a transaction, it is sent if the transaction commits. `id` is a new one by default; receivers ignore an id
        that they have seen. `timestamp` is now by default. Types that begin with `job.` or `webhook.` are JobForge's
        own.
        """
        return await self._runner.run(calls.send(type, data, tenant, id, timestamp))

    def deliveries(
        self, id: str, *, tenant: Tenant, page_size: int | None = None, **filters: Unpack[DeliveryFilters]
    ) -> AsyncList[Job]:
        """The deliveries of an endpoint, newest first, also of one that was deleted.

        Their results and errors say how the receiver responded.
        """
        return AsyncList(self._runner, calls.deliveries(id, tenant, page_size, filters))

    async def replay(
        self, id: str, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[DeliveryFilters]
    ) -> ReplayResult:
        """Delivers again what the filters select; by default what failed or is dead. `limit` is 1000 per call.

        Receivers get the same `webhook-id`, so that they can recognize what they have seen.
        """
        return await self._runner.run(calls.replay(id, tenant, limit, filters))


class AsyncEgress(AsyncGroup):
    """What connectors may reach in addition to public addresses."""

    async def get(self, *, tenant: Tenant | None = None) -> EgressPolicies:
        """The policy of all tenants, and with `tenant` the tenant's own. For workers and operators."""
        return await self._runner.run(calls.get_egress(tenant))

    async def set(self, policy: Mapping[str, Any] | None, *, tenant: Tenant | None = None) -> None:
        """Sets the policy of a tenant, or without `tenant` of all; None removes it.

        Its keys are those of the page "connectors". Workers take it over within seconds. For operators.
        """
        await self._runner.run(calls.set_egress(policy, tenant))
