"""Runs a command in several processes, and starts each of them again when it ends.

A process that fails again and again is started with growing waits. Signals are passed on to all processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .watch import CHANGED, wait_for_change

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

# The exit code of a process that wants to be replaced, because it has run enough jobs or grown too large.
RENEW: Final = 65
# The environment variable that tells a process that another one starts it again.
CHILD: Final = "JOBFORGE_WORKER_CHILD"

_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 30.0
# A process that has run for this long has started successfully.
_STEADY_AFTER: Final = 10.0
_LOOK_EVERY: Final = 0.1


@dataclass(slots=True)
class _Slot:
    """A place for one process."""

    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    start_at: float = 0.0


@dataclass(slots=True)
class Supervisor:
    """Keeps processes running until a signal comes."""

    arguments: Sequence[str]
    processes: int = 1
    # In this mode a process that fails is not started again before a file has changed.
    watches: bool = False
    _signals: list[int] = field(default_factory=list)
    _is_over: list[bool] = field(default_factory=list)

    def run(self) -> int:
        """Returns when all processes have ended after a signal."""
        slots = [_Slot() for _ in range(self.processes)]
        handlers = {each: signal.signal(each, self._received) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            while not self._is_over:
                for slot in slots:
                    self._look_after(slot)
                time.sleep(_LOOK_EVERY)
            return self._end(slots)
        finally:
            for each, handler in handlers.items():
                signal.signal(each, handler)

    def _received(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)
        self._is_over.append(True)

    def _look_after(self, slot: _Slot) -> None:
        if slot.process is None:
            if time.monotonic() >= slot.start_at:
                self._start(slot)
            return
        code = slot.process.poll()
        if code is None:
            return
        slot.process = None
        if code == CHANGED:
            _say("A file has changed: restarting")
        elif code != RENEW:
            self._failed(slot, code)

    def _start(self, slot: _Slot) -> None:
        slot.started_at = time.monotonic()
        command = [sys.executable, "-m", "jobforge", *self.arguments]
        # In a group of their own: the terminal sends its signals to this process, which passes them on.
        environment = {**os.environ, CHILD: "1"}
        slot.process = subprocess.Popen(command, env=environment, start_new_session=True)  # noqa: S603 - our own command

    def _failed(self, slot: _Slot, code: int) -> None:
        is_steady = time.monotonic() - slot.started_at > _STEADY_AFTER
        slot.failures = 0 if is_steady else slot.failures + 1
        ended = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        if self.watches:
            _say(f"The worker {ended}: waiting for a file to change")
            wait_for_change(os.getcwd(), self._is_over)
            return
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(slot.failures, 10))
        slot.start_at = time.monotonic() + wait
        _say(f"A worker process {ended}: starting it again in {wait:g} s")

    def _end(self, slots: Sequence[_Slot]) -> int:
        """Passes the signals on, also those that come meanwhile, and waits for all processes."""
        passed = 0
        while True:
            running = [slot.process for slot in slots if slot.process is not None and slot.process.poll() is None]
            for number in self._signals[passed:]:
                passed += 1
                for process in running:
                    process.send_signal(number)
            if not running:
                codes = [slot.process.returncode for slot in slots if slot.process is not None]
                return max((code for code in codes if code not in (CHANGED, RENEW)), default=0, key=abs)
            time.sleep(_LOOK_EVERY)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
