"""Sends one request to an ASGI application, as a server would."""

from __future__ import annotations

import json
from typing import Any


async def request(app: Any, method: str, secret: str | None) -> dict[str, Any]:
    headers = [] if secret is None else [(b"authorization", f"Bearer {secret}".encode())]
    scope = {"type": "http", "method": method, "path": "/api/jobs/tick", "headers": headers, "query_string": b""}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    return {"status": sent[0]["status"], "body": json.loads(body)}
