"""The HTTP port of a worker process, for probes and Prometheus: health, readiness and metrics.

It runs in threads of its own, so that it responds while a handler blocks the event loop.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from .defaults import WORKER_TIMEOUT
from .reporting.meter import LATENCY_BINS, LatencyBin, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from .worker import Worker

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


class Monitor:
    """Serves `/healthz`, `/readyz` and `/metrics` of a worker, until it is closed."""

    def __init__(self, worker: Worker, *, port: int, host: str = "127.0.0.1") -> None:
        """Port 0 chooses a free one. The port needs no token: open it only to the network of probes and scrapers."""

        class Handler(_Handler):
            monitored = worker

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, name="jobforge-monitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    monitored: Worker

    def do_GET(self) -> None:
        if self.path == "/healthz":
            self._respond(200, {"ok": True})
        elif self.path == "/readyz":
            reason = _unready_because(self.monitored)
            self._respond(*((200, {"ok": True}) if reason is None else (503, {"ok": False, "reason": reason})))
        elif self.path == "/metrics":
            self._send(200, _TEXT, metrics_text(self.monitored).encode())
        else:
            self._respond(404, {"ok": False})

    def log_message(self, format: str, *args: Any) -> None:
        """Probes are not worth a log line."""

    def _respond(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _unready_because(worker: Worker) -> str | None:
    heard_at = worker.metrics().heard_at
    if heard_at is None:
        return "the database has not received a heartbeat from this worker yet"
    if (datetime.now(UTC) - heard_at).total_seconds() < WORKER_TIMEOUT:
        return None
    return f"the database has not received a heartbeat from this worker since {heard_at.isoformat()}"


def metrics_text(worker: Worker) -> str:
    """The metrics in the text format of Prometheus. The names are those of the worker in TypeScript."""
    metrics = worker.metrics()
    heard = 0.0 if metrics.heard_at is None else metrics.heard_at.timestamp()
    return "\n".join(
        [
            *_metric("running", "gauge", "Handler calls in progress"),
            f"jobforge_worker_running {worker.running}",
            *_metric(
                "heard_timestamp_seconds", "gauge", "When the database last received a heartbeat from this worker"
            ),
            f"jobforge_worker_heard_timestamp_seconds {heard}",
            *_metric("runs_total", "counter", "Runs by outcome. The outcome claimed counts all runs"),
            *(
                f'jobforge_worker_runs_total{{outcome="{name}"}} {getattr(metrics.runs, name)}'
                for name in Tally.__slots__
            ),
            *_metric("handed_total", "counter", "Jobs that enqueues have handed to this worker, without a claim"),
            f"jobforge_worker_handed_total {metrics.handed}",
            *_histogram("claim_seconds", "Duration of calls that claim jobs", metrics.claim),
            *_histogram("settle_seconds", "Duration of calls that settle runs", metrics.settle),
            "",
        ]
    )


def _metric(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP jobforge_worker_{name} {help}", f"# TYPE jobforge_worker_{name} {kind}"]


def _histogram(name: str, help: str, bins: Sequence[LatencyBin]) -> list[str]:
    lines = _metric(name, "histogram", help)
    count = 0
    for limit, (calls, _) in zip((*(f"{each:g}" for each in LATENCY_BINS), "+Inf"), bins, strict=True):
        count += calls
        lines.append(f'jobforge_worker_{name}_bucket{{le="{limit}"}} {count}')
    lines.append(f"jobforge_worker_{name}_sum {sum(seconds for _, seconds in bins):.6f}")
    lines.append(f"jobforge_worker_{name}_count {count}")
    return lines
