"""The real Postgres and the real HTTP servers that the tests use."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "backend.js"


@dataclass(frozen=True)
class Tool:
    """A program, and the environment that it needs."""

    path: str
    env: dict[str, str]


class Backend:
    """A process of Node that runs until the tests are over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            ["node", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=SCRIPT.parent
        )
        address = self._read()
        self.url: str = address["url"]
        self.template: str = address["template"]
        self._secret: str = address["secret"]

    def serve(self, database: str, artifacts: Path | None = None) -> str:
        """Starts an HTTP server for a database, with the artifacts of a folder, and returns its URL."""
        more = {} if artifacts is None else {"artifacts": str(artifacts)}
        url: str = self._ask({"serve": database, **more})["url"]
        return url

    def tool(self, name: str) -> Tool | None:
        """How to start a program of `scripts/tools.js`; None if it is not available."""
        found = self._ask({"tool": name})["tool"]
        return None if found is None else Tool(found["path"], found["env"])

    def close_server(self, url: str) -> None:
        """Ends an HTTP server."""
        self._ask({"close": url})

    def describe(self, database: str, api_schema: str = "public") -> str:
        """The schema of a database as text, one fact per line, as `@jobforge/sql` writes it."""
        text: str = self._ask({"describe": database, "apiSchema": api_schema})["text"]
        return text

    def token(self, role: str, tenant: str | None = None, lasts: float = 3600) -> str:
        """A signed token for the servers."""
        claims: dict[str, Any] = {"role": role, "exp": int(time.time() + lasts)}
        if tenant is not None:
            claims["tenant_id"] = tenant
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
        signature = hmac.new(self._secret.encode(), signed.encode(), hashlib.sha256).digest()
        return f"{signed}.{_encoded(signature)}"

    def stop(self) -> None:
        """Ends the process, and with it the server and all databases."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=60)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _ask(self, message: dict[str, str]) -> dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None
            self._process.stdin.write(f"{json.dumps(message)}\n")
            self._process.stdin.flush()
            reply = self._read()
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The process that serves the tests has ended; see its error output")
        message: dict[str, Any] = json.loads(line)
        return message


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
