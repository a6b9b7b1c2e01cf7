"""Real worker processes, with their log lines and their exit."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .support import PATIENCE

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]


class Child:
    """`python -m jobforge …`, with what it writes."""

    def __init__(
        self, url: str, arguments: Sequence[str], *, folder: Path = ROOT, env: Mapping[str, str] | None = None
    ) -> None:
        self.lines: list[dict[str, Any]] = []
        self.noise: list[str] = []
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jobforge", *arguments],
            cwd=folder,
            env={**kept, "DATABASE_URL": url, "LOG_LEVEL": "debug", "PYTHONUNBUFFERED": "1", **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._threads = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self.process.stdout, self.process.stderr)
        ]
        for thread in self._threads:
            thread.start()

    async def logged(self, message: str, count: int = 1) -> dict[str, Any]:
        """Waits until `count` lines begin with the message, and returns the last of them."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = [line for line in self.lines if line["message"].startswith(message)]
                if len(found) >= count:
                    return found[count - 1]
                if self.process.poll() is not None and not any(thread.is_alive() for thread in self._threads):
                    raise AssertionError(f"It ended without {message!r}: {self.lines} {''.join(self.noise)}")
                await asyncio.sleep(0.01)

    async def wrote(self, beginning: str) -> str:
        """Waits for a text that is no log line, and returns it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = [text for text in self.noise if text.startswith(beginning)]
            if found:
                return found[0]
            await asyncio.sleep(0.01)
        raise AssertionError(f"It did not write {beginning!r}: {''.join(self.noise)}")

    async def ended(self) -> int:
        """Waits for its end, and returns its exit code."""
        code = await asyncio.to_thread(self.process.wait, PATIENCE)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        return code

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def messages(self) -> list[str]:
        return [line["message"] for line in self.lines]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _read(self, stream: Any) -> None:
        for text in stream:
            try:
                self.lines.append(json.loads(text))
            except ValueError:
                self.noise.append(text)
