"""A server whose responses a test sets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Answers:
    """What the server responds, and what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body: Any = None
        self.delay = 0.0
        self.closes = False
        self.headers: dict[str, str] = {}
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.connections = 0
        self.closed = threading.Semaphore(0)
        """Released for each connection that the server has closed."""


@contextmanager
def serving(answers: Answers) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            answers.connections += 1

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answers.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            time.sleep(answers.delay)
            text = answers.body if isinstance(answers.body, str) else json.dumps(answers.body)
            self.send_response(answers.status)
            self.send_header("content-length", str(len(text)))
            for name, value in answers.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())
            self.close_connection = answers.closes

        def log_message(self, format: str, *args: object) -> None: ...

    class Server(ThreadingHTTPServer):
        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            answers.closed.release()

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
