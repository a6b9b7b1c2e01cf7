"""Runs `connector.webhook.deliver`: builds, signs and sends one body. What was not delivered is a failed run."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from ...definition import JobHandler
from ...version import VERSION
from ..egress.check_url import UrlRules, check_url
from ..egress.connect import Waits
from ..egress.exchange import Exchange, OutboundRequest, send
from ..errors import ConnectorError
from ..http.handler import scrubbed
from ..http.headers import RequestHeaders
from ..http.response import beginning_of
from ..retries import RetryRules, end_failed, retry_after_of
from ..secrets.scrub import Scrubber
from ..secrets.secrets import SecretUse, Values
from ..surroundings import Surroundings
from .body import EventFacts, webhook_body
from .definition import WebhookDelivery, WebhookResult, webhook_deliver
from .endpoints import EndpointFinder, WebhookOptions, master_keys_of
from .signing import legacy_signature, standard_signature
from .target import Target, target_of

if TYPE_CHECKING:
    from ...context import JobContext

_WAITS: Final = Waits(connect=5.0)
_MAX_RESPONSE_BYTES: Final = 65_536
_GONE: Final = 410


def _disabled_wait(attempt: int) -> int:
    """Seconds. A delivery that was claimed just before its endpoint was disabled waits with the others.

    It loses no attempt. The hold of the endpoint's key does not concern a job that only names the endpoint, so that one
    asks ever more rarely.
    """
    return min(5 << min(attempt - 1, 10), 600)


def webhook_handler(
    around: Surroundings, endpoints: EndpointFinder, options: WebhookOptions
) -> JobHandler[WebhookDelivery, WebhookResult]:
    """The handler of webhooks."""
    master_keys = master_keys_of() if options.master_keys is None else options.master_keys
    find = options.endpoints or endpoints

    async def handle(input: WebhookDelivery, job: JobContext[Any]) -> WebhookResult:
        # The schema has filled in the defaults.
        given = cast("dict[str, Any]", input)
        rules = RetryRules()
        delivery = _Delivery(around, given, job)
        try:
            config = await around.configurations.of(job.tenant, "webhook.deliver")
            target = await target_of(given, job.tenant, find, master_keys)
            rules.schedule = config.get("retry_schedule") if target.schedule is None else target.schedule
            if target.is_disabled:
                job.defer(_disabled_wait(job.attempt), counts=False)
            return await delivery.run(target, config)
        except ConnectorError as error:
            await end_failed(job, scrubbed(error, delivery.scrubber), rules)

    return webhook_deliver.handler(handle)


class _Delivery:
    """One run."""

    def __init__(self, around: Surroundings, given: dict[str, Any], job: JobContext[Any]) -> None:
        self._around = around
        self._given = given
        self._job = job
        self.scrubber = Scrubber()
        self._sent_at = datetime.now(UTC)
        self._id: str = given["event"].get("id", job.id)

    async def run(self, target: Target, config: dict[str, Any]) -> WebhookResult:
        given, job = self._given, self._job
        policy = await self._around.policies.of(job.tenant)
        rules = UrlRules(policy, (config["allowed_hosts"],), https_only=not policy.settings["allow_http"])
        url = check_url(target.url, rules)
        values = Values(self._around.secrets, self.scrubber, SecretUse(job.tenant, policy, [url]))
        body, content_type = webhook_body(target.format, self._facts())
        headers = RequestHeaders()
        for some in (config["default_headers"], target.headers, given["headers"]):
            await headers.add(some, values)
        suffix = f" {config['user_agent_suffix']}" if "user_agent_suffix" in config else ""
        agent = "JobForge-Webhook/1.0" if target.format == "legacy" else f"JobForge/{VERSION}"
        headers.set("user-agent", f"{agent}{suffix}")
        headers.set("content-type", content_type)
        headers.set("accept-encoding", "identity")
        headers.set("traceparent", job.traceparent)
        await self._sign(headers, target, body, values)
        headers.check()

        async def whole() -> bytes:
            return body

        start = time.monotonic()
        outbound = OutboundRequest(
            url=url.href,
            rules=rules,
            waits=_WAITS,
            timeout_ms=min(given["timeout_ms"], config.get("timeout_ms", given["timeout_ms"])),
            method="POST",
            headers=headers.all,
            body=whole,
        )
        async with send(outbound) as exchange:
            preview, _ = await beginning_of(exchange, _MAX_RESPONSE_BYTES, self.scrubber)
        if not 200 <= exchange.status < 300:
            raise _status_failure(exchange, preview)
        return {
            "delivered": True,
            "status": exchange.status,
            "duration_ms": round((time.monotonic() - start) * 1000),
            "response_preview": preview,
            "webhook_id": self._id,
            "timestamp": _iso(self._sent_at),
            "attempt": job.attempt,
        }

    def _facts(self) -> EventFacts:
        event = self._given["event"]
        happened = event.get("timestamp") or _iso(self._job.created_at)
        return EventFacts(self._id, event["type"], happened, event["data"], self._job.tenant, _iso(self._sent_at))

    async def _sign(self, headers: RequestHeaders, target: Target, body: bytes, values: Values) -> None:
        given = self._given
        signing = await target.keys(values)
        if target.format != "legacy":
            seconds = int(self._sent_at.timestamp())
            headers.set("webhook-id", self._id)
            headers.set("webhook-timestamp", str(seconds))
            if signing.keys:
                signature = standard_signature(signing.keys, self._id, seconds, body)
                headers.set("webhook-signature", signature)
            if target.signature != "both":
                return
        headers.set("x-jobforge-event", given["event"]["type"])
        headers.set("x-jobforge-event-id", self._id)
        headers.set("x-jobforge-timestamp", _iso(self._sent_at))
        headers.set("x-jobforge-delivery-attempt", str(self._job.attempt))
        if signing.texts:
            text = signing.texts[0]
            headers.set("x-jobforge-signature", legacy_signature(given["signature_algo"], text, body))


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _status_failure(exchange: Exchange, preview: str) -> ConnectorError:
    """Receivers are deployed wrongly for hours, so every status is retried, except the receiver's own word."""
    status = exchange.status
    details = {
        "status": status,
        "preview": preview,
        "retry_after": retry_after_of(status, exchange.header("retry-after")),
        "sent": True,
    }
    message = f"{exchange.url.authority} responded with status {status}."
    is_final = status == _GONE or exchange.header("jobforge-no-retry") == "true"
    return ConnectorError("http_status", message, details, is_final=is_final)
