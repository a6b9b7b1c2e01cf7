"""Where log lines go: standard output as JSON, a terminal as text, or the application's own logger."""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import os
import sys
import time
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TextIO

from .human import human_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..running.run import Run

Level = Literal["debug", "info", "warning", "error"]

_NUMBERS: Final[Mapping[Level, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
# What lines say, and what the worker in TypeScript says, too.
_LABELS: Final[Mapping[Level, str]] = {"debug": "debug", "info": "info", "warning": "warn", "error": "error"}
_THRESHOLDS: Final = {
    "trace": 0,
    "debug": 10,
    "info": 20,
    "warn": 30,
    "warning": 30,
    "error": 40,
    "fatal": 50,
    "critical": 50,
    "silent": 100,
}
# The attributes of a record of `logging`, which extra fields must not replace.
_RECORD_NAMES: Final = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime"))


class Logger(Protocol):
    """A logger of the application: one of `logging`, one of structlog, or any object with these four methods."""

    def debug(self, message: str, /, **fields: Any) -> object: ...
    def info(self, message: str, /, **fields: Any) -> object: ...
    def warning(self, message: str, /, **fields: Any) -> object: ...
    def error(self, message: str, /, **fields: Any) -> object: ...


class Sink(Protocol):
    """Takes log lines. Any thread may call it."""

    def is_enabled(self, level: Level) -> bool: ...
    def write(self, level: Level, fields: Mapping[str, Any], message: str) -> None: ...
    def flush(self) -> None: ...


class Output:
    """Standard output, written once for all lines of a turn of the event loop.

    A write for each line would cost more than the line itself. Lines of other threads are written at once, unless a
    write is about to follow anyway.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._lock = Lock()
        # The event loop that is about to write.
        self._scheduled: asyncio.AbstractEventLoop | None = None
        atexit.register(self.flush)

    def write(self, line: str) -> None:
        self._lines.append(line)
        scheduled = self._scheduled
        if scheduled is not None and not scheduled.is_closed():
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        self._scheduled = loop
        loop.call_soon(self.flush)

    def flush(self) -> None:
        with self._lock:
            self._scheduled = None
            lines, self._lines = self._lines, []
            if lines:
                stream = self._stream or sys.stdout
                stream.write("".join(lines))
                stream.flush()


class JsonSink:
    """One line of JSON for each log line."""

    def __init__(self, threshold: int, output: Output) -> None:
        self._enabled = {level: number >= threshold for level, number in _NUMBERS.items()}
        self._output = output
        self._stamped_at = 0
        self._stamp = ""

    def is_enabled(self, level: Level) -> bool:
        return self._enabled[level]

    def write(self, level: Level, fields: Mapping[str, Any], message: str) -> None:
        if self._enabled[level]:
            line = {"level": _LABELS[level], "timestamp": self._timestamp(), **fields, "message": message}
            self._output.write(f"{json.dumps(line, default=_as_text, ensure_ascii=False)}\n")

    def write_run(self, level: Level, worker_id_json: str, run: Run, message: str) -> None:
        """The line of a run without fields of its own, which is written for every job. Ids need no escapes."""
        if not self._enabled[level]:
            return
        job = run.job
        self._output.write(
            f'{{"level":"{_LABELS[level]}","timestamp":"{self._timestamp()}","worker_id":{worker_id_json},'
            f'"trace_id":"{job["trace_id"]}","job_id":"{run.id}","job_type":{run.type.name_json},'
            f'"tenant_id":"{job["tenant_id"]}","attempt_no":{run.attempt},"duration_ms":{run.duration_ms},'
            f'"message":{json.dumps(message)}}}\n'
        )

    def flush(self) -> None:
        self._output.flush()

    def _timestamp(self) -> str:
        """The current time, formatted once per millisecond."""
        now = time.time_ns() // 1_000_000
        if now != self._stamped_at:
            self._stamp = timestamp(now)
            self._stamped_at = now
        return self._stamp


class HumanSink:
    """Readable text for a terminal."""

    def __init__(self, threshold: int, output: Output) -> None:
        self._threshold = threshold
        self._output = output

    def is_enabled(self, level: Level) -> bool:
        return _NUMBERS[level] >= self._threshold

    def write(self, level: Level, fields: Mapping[str, Any], message: str) -> None:
        if self.is_enabled(level):
            stamp = datetime.now().astimezone().strftime("%H:%M:%S.%f")[:-3]
            self._output.write(human_line(stamp, _LABELS[level], fields, message))

    def flush(self) -> None:
        self._output.flush()


class LoggingSink:
    """A logger of the standard library. The fields are attributes of its records."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def is_enabled(self, level: Level) -> bool:
        return self._logger.isEnabledFor(_NUMBERS[level])

    def write(self, level: Level, fields: Mapping[str, Any], message: str) -> None:
        if self.is_enabled(level):
            extra = {f"{name}_" if name in _RECORD_NAMES else name: value for name, value in fields.items()}
            self._logger.log(_NUMBERS[level], "%s", message, extra=extra)

    def flush(self) -> None:
        """The logger's handlers write at once, or decide by themselves."""


class LoggerSink:
    """Any other logger of the application, such as one of structlog."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def is_enabled(self, level: Level) -> bool:
        del level
        return True

    def write(self, level: Level, fields: Mapping[str, Any], message: str) -> None:
        # The first parameter of structlog's methods is called `event`.
        given = {name: value for name, value in fields.items() if name not in ("event", "message", "self")}
        getattr(self._logger, level)(message, **given)

    def flush(self) -> None:
        """The logger decides by itself when it writes."""


_output: Final = Output()


def sink_of(logger: Logger | logging.Logger | None) -> Sink:
    """The sink for a logger of the application; by default JSON on standard output, or text in a terminal."""
    if isinstance(logger, logging.Logger):
        return LoggingSink(logger)
    if logger is not None:
        return LoggerSink(logger)
    threshold = _THRESHOLDS.get(os.environ.get("LOG_LEVEL", "").lower(), _THRESHOLDS["info"])
    return HumanSink(threshold, _output) if is_terminal() else JsonSink(threshold, _output)


def flush_logs() -> None:
    """Writes the lines that wait, before the process is ended."""
    _output.flush()


def is_terminal() -> bool:
    try:
        return sys.stdout.isatty()
    except ValueError:
        return False


def wants_stacks(logger: object) -> bool:
    """Whether lines about failed runs have the whole traceback, unless the option `log_stacks` says so."""
    setting = os.environ.get("LOG_STACKS", "")
    if setting != "":
        return setting.lower() in ("1", "true")
    return logger is None and is_terminal()


def timestamp(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def _as_text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the value's own code may raise anything
        return "[unreadable]"
