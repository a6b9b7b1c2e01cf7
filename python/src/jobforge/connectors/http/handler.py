"""Runs `connector.http.request`: one guarded request, and what is kept of its response."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterable, AsyncIterator
from typing import TYPE_CHECKING, Any, Final, cast

from ...artifacts.store import ref_of
from ...definition import JobHandler
from ...version import VERSION
from ..artifacts import content_of, require_owner
from ..egress.body import decoded, limited, read_up_to
from ..egress.check_url import UrlRules, check_url
from ..egress.connect import Waits
from ..egress.exchange import Body, Exchange, OutboundRequest, send
from ..egress.wire import too_large
from ..errors import ConnectorError
from ..retries import RetryRules, end_failed, has_status, retry_after_of
from ..secrets.scrub import Scrubber
from ..secrets.secrets import SecretUse, Values
from ..surroundings import Surroundings
from .auth import Authorization, AuthUse
from .definition import HttpRequest, HttpResult, body_text, http_request
from .headers import RequestHeaders, with_query
from .response import beginning_of, kept_body, kept_headers, preview_of

if TYPE_CHECKING:
    from ...context import JobContext

_WAITS: Final = Waits(connect=10.0)
_MAX_ARTIFACT_BYTES: Final = 1_073_741_824
_PREVIEW: Final = 1024
_UNAUTHORIZED: Final = 401
_OVERLOADED: Final = (429, 503)


def http_handler(around: Surroundings) -> JobHandler[HttpRequest, HttpResult]:
    """The handler of HTTP requests."""
    authorization = Authorization()

    async def handle(input: HttpRequest, job: JobContext[Any]) -> HttpResult:
        # The schema has filled in the defaults.
        given = cast("dict[str, Any]", input)
        rules = RetryRules(is_final=lambda failure: _is_final(failure, given))
        call = _Call(around, authorization, given, job)
        try:
            config = await around.configurations.of(job.tenant, "http.request")
            rules.schedule = config.get("retry_schedule")
            return await call.run(config)
        except ConnectorError as error:
            await end_failed(job, scrubbed(error, call.scrubber), rules)

    return http_request.handler(handle)


class _Call:
    """One run."""

    def __init__(
        self, around: Surroundings, authorization: Authorization, given: dict[str, Any], job: JobContext[Any]
    ) -> None:
        self._around = around
        self._authorization = authorization
        self._given = given
        self._job = job
        self.scrubber = Scrubber()

    async def run(self, config: dict[str, Any]) -> HttpResult:
        start = time.monotonic()
        outbound = await self._prepare(config)
        async with send(outbound) as exchange:
            if not has_status(self._given["success"], exchange.status):
                # A token may be revoked before it expires. The next attempt asks for another one.
                is_stale = (
                    exchange.status == _UNAUTHORIZED
                    and "oauth2" in self._given.get("auth", ())
                    and self._authorization.forget(outbound.headers.get("authorization"))
                )
                raise await _status_failure(exchange, self._given, self.scrubber, is_stale=is_stale)
            kept = await self._keep(exchange, config)
        response = self._given["response"]
        names = [*response["headers"], *self._given["response_headers_allowlist"]]
        return cast(
            "HttpResult",
            {
                "status": exchange.status,
                "success": True,
                "duration_ms": round((time.monotonic() - start) * 1000, 1),
                "url": self.scrubber.text(exchange.url.href),
                "redirects": [self.scrubber.text(url) for url in exchange.redirects],
                "response_headers": kept_headers(exchange.headers, names, self._given["redact_headers"], self.scrubber),
                **kept,
                "timings": {part: round(ms, 1) for part, ms in exchange.timings.items()},
            },
        )

    async def _prepare(self, config: dict[str, Any]) -> OutboundRequest:
        given, job = self._given, self._job
        policy = await self._around.policies.of(job.tenant)
        rules = UrlRules(policy, allowlists=(config["allowed_hosts"], given["allowlist"]))
        url = check_url(given["url"], rules)
        values = Values(self._around.secrets, self.scrubber, SecretUse(job.tenant, policy, [url]))
        timeout_ms = min(given["timeout_ms"], config.get("timeout_ms", given["timeout_ms"]))
        # A request for a token is part of this time.
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        plain = OutboundRequest(url=url.href, rules=rules, waits=_WAITS, timeout_ms=timeout_ms, deadline=deadline)
        headers = self._own_headers(config)
        await headers.add(config["default_headers"], values)
        await headers.add(given["headers"], values)
        # A compressed body would hide the secrets in it.
        headers.set("accept-encoding", "gzip" if given["response"]["decode"] else "identity")
        if "auth" in given:
            use = AuthUse(job.tenant, url, plain, values, self.scrubber)
            headers.set("authorization", await self._authorization.header(given["auth"], use), is_secret=True)
        if given["idempotency_header"] is not False and given["method"] in ("POST", "PATCH"):
            await headers.add({given["idempotency_header"]: job.id}, values)
        headers.check()
        return OutboundRequest(
            url=(await with_query(url, given["query"], values)).href,
            rules=rules,
            waits=_WAITS,
            timeout_ms=timeout_ms,
            deadline=deadline,
            method=given["method"],
            headers=headers.all,
            secret_headers=frozenset(headers.secret),
            body=self._body(),
            redirects=given.get("redirects", 3 if given["method"] in ("GET", "HEAD") else 0),
        )

    def _own_headers(self, config: dict[str, Any]) -> RequestHeaders:
        headers = RequestHeaders()
        suffix = f" {config['user_agent_suffix']}" if "user_agent_suffix" in config else ""
        headers.set("user-agent", f"JobForge/{VERSION}{suffix}")
        headers.set("traceparent", self._job.traceparent)
        if "body" in self._given and not isinstance(self._given["body"], str):
            headers.set("content-type", "application/json")
        return headers

    def _body(self) -> Body | None:
        """The body, made anew for each hop."""
        given = self._given
        if "body_artifact" in given:
            ref = require_owner(given["body_artifact"], self._job.tenant)

            async def artifact() -> AsyncIterator[bytes]:
                return content_of(self._around.artifacts, ref)

            return artifact
        if "body_base64" in given:
            content = base64.b64decode(given["body_base64"])
        elif "body" in given:
            content = body_text(given["body"]).encode()
        else:
            return None

        async def plain() -> bytes:
            return content

        return plain

    async def _keep(self, exchange: Exchange, config: dict[str, Any]) -> dict[str, Any]:
        """What is kept of the body: up to the limit in the result, or all of it as an artifact."""
        response = self._given["response"]
        content_type = exchange.header("content-type")
        body: AsyncIterable[bytes] = exchange.body
        if response["decode"]:
            body = decoded(body, ", ".join(exchange.headers.get("content-encoding", ())))
        if response["on_large"] == "artifact":
            most = min(_MAX_ARTIFACT_BYTES, config.get("max_bytes", _MAX_ARTIFACT_BYTES))
            return await self._keep_artifact(limited(body, most), content_type or "application/octet-stream")
        most = min(response["max_bytes"], config.get("max_bytes", response["max_bytes"]))
        read = await read_up_to(body, most)
        if read.truncated and response["on_large"] == "fail":
            raise too_large(most, read.total)
        content = self.scrubber.content(read.content, is_whole=not read.truncated)
        kept = kept_body(content, response["body"], content_type, self.scrubber, is_whole=not read.truncated)
        return {
            "response_body_preview": preview_of(content),
            **kept,
            "truncated": read.truncated,
            "bytes": read.total,
        }

    async def _keep_artifact(self, body: AsyncIterable[bytes], content_type: str) -> dict[str, Any]:
        key = f"http/{self._job.tenant}/{self._job.id}/response"
        beginning = b""

        async def watched() -> AsyncIterator[bytes]:
            nonlocal beginning
            async for part in self.scrubber.stream(body):
                beginning = beginning or part[:_PREVIEW]
                yield part

        stored = await self._around.artifacts.put(key, watched(), content_type=content_type)
        preview = preview_of(beginning)
        return {
            "response_body_preview": preview,
            "truncated": False,
            "bytes": stored.bytes,
            "artifact_ref": ref_of(key),
        }


async def _status_failure(
    exchange: Exchange, given: dict[str, Any], scrubber: Scrubber, *, is_stale: bool
) -> ConnectorError:
    """The failure of a response whose status is not a success."""
    status, host = exchange.status, exchange.url.authority
    preview, size = await beginning_of(exchange, _PREVIEW, scrubber)
    details = {
        "status": status,
        "bytes": size,
        "preview": preview,
        "retry_after": retry_after_of(status, exchange.header("retry-after")),
        "sent": True,
    }
    if 300 <= status < 400:
        message = f"{host} redirected with status {status}, and redirects are not followed here."
        return ConnectorError("redirect_refused", message, details)
    is_final = (
        exchange.header("jobforge-no-retry") == "true"
        or has_status(given["final_on"], status)
        or not (is_stale or has_status(given["retry_on"], status))
    )
    return ConnectorError("http_status", f"{host} responded with status {status}.", details, is_final=is_final)


def _is_final(error: ConnectorError, given: dict[str, Any]) -> bool:
    """Whether the payload forbids a retry of this failure."""
    if given["retry"] == "never":
        return True
    if given["retry"] == "always" or given["method"] not in ("POST", "PATCH"):
        return False
    # A server that is overloaded says so before it acts.
    is_refusal = error.code == "http_status" and error.details.get("status") in _OVERLOADED
    return error.details.get("sent") is True and not is_refusal


def scrubbed(error: ConnectorError, scrubber: Scrubber) -> ConnectorError:
    """The same failure without secrets."""
    details = {name: value for name, value in error.details.items() if name != "code"}
    if "preview" in details:
        details["preview"] = scrubber.text(details["preview"])
    return ConnectorError(error.code, scrubber.text(str(error)), details, is_final=error.is_final)
