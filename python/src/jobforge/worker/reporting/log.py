"""Structured logs.

Every line has the same ten fields, null where they do not apply: timestamp, level, worker_id, trace_id, job_id,
job_type, tenant_id, attempt_no, message, duration_ms. No line contains a payload or a result, and secrets are masked.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

from ...describe_error import clean, describe_error
from ...failure import failure_line, failure_trace
from ..error_frames import own_frame
from .kept_log import KeptLog
from .redact import Redactor, redactor
from .sinks import JsonSink, Level, Sink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..claiming.protocol import RunError
    from ..running.run import Run

__all__ = ["JobLogFilter", "Level", "RunLog", "WorkerLog"]

_NO_JOB: Final[Mapping[str, None]] = {
    "trace_id": None,
    "job_id": None,
    "job_type": None,
    "tenant_id": None,
    "attempt_no": None,
    "duration_ms": None,
}
_NO_ERROR: Final[Mapping[str, None]] = {"error_name": None, "error": None, "error_at": None}
# Fields that the logger writes itself. A second value under the same name would hide the first one from readers.
_LOGGER_FIELDS: Final = frozenset(("timestamp", "level", "message"))


class WorkerLog:
    """Writes log lines. Whatever the logger raises, jobs go on."""

    def __init__(self, sink: Sink, worker_id: str, *, shows_stacks: bool) -> None:
        self._sink = sink
        self._json_sink = sink if isinstance(sink, JsonSink) else None
        self._worker_id = worker_id
        self._worker_id_json = json.dumps(worker_id)
        self._shows_stacks = shows_stacks
        self._has_failed = False

    def is_enabled(self, level: Level) -> bool:
        try:
            return self._sink.is_enabled(level)
        except Exception as error:  # noqa: BLE001 - the logger is the application's
            self._failed(error)
            return True

    def debug(self, fields: Mapping[str, Any], message: str) -> None:
        self._write("debug", fields, message)

    def info(self, fields: Mapping[str, Any], message: str) -> None:
        self._write("info", fields, message)

    def warning(self, fields: Mapping[str, Any], message: str) -> None:
        self._write("warning", fields, message)

    def error(self, fields: Mapping[str, Any], message: str) -> None:
        self._write("error", fields, message)

    def job(self, level: Level, run: Run, fields: Mapping[str, Any] | None, message: str) -> None:
        """Writes a line about a run. `fields` cannot replace the fields of the run."""
        try:
            if fields is None and self._json_sink is not None:
                self._json_sink.write_run(level, self._worker_id_json, run, message)
                return
            own = self.fields_of(run)
            if fields is not None:
                masked = run.type.redactor.fields(fields)
                own = {name: value for name, value in masked.items() if name not in _LOGGER_FIELDS} | own
            self._sink.write(level, own, message)
        except Exception as error:  # noqa: BLE001 - the logger is the application's
            self._failed(error)

    def keep(self, level: Level, run: Run, fields: Mapping[str, Any], message: str) -> None:
        """Keeps a line for the attempt."""
        try:
            kept = run.kept_log or KeptLog()
            run.kept_log = kept
            kept.add(level, run.type.redactor.fields(fields) if fields else None, message)
        except Exception as error:  # noqa: BLE001 - fields may be anything
            self._failed(error)

    def failure(self, level: Level, run: Run, error: RunError | None, message: str, *, stack: bool = True) -> None:
        """Writes a line about a run that failed: what happened, with its causes, and where."""
        masking = run.type.redactor
        fields = _NO_ERROR if error is None else self.error_fields(error, stack=stack, masking=masking)
        self.job(level, run, fields, message)

    def error_fields(self, thrown: RunError, *, stack: bool = True, masking: Redactor = redactor) -> dict[str, Any]:
        """The fields for an error. It is masked first, because its keys are not in the texts that are made of it.

        Without `stack`, tracebacks are left out even if this worker shows them.
        """
        error = masking.fields(thrown)
        fields = {
            "error_name": error.get("name"),
            "error": failure_line(error),
            "error_at": own_frame(error),
        }
        return {**fields, "stack": failure_trace(error)} if stack and self._shows_stacks else fields

    def fields_of(self, run: Run) -> dict[str, Any]:
        """The fields of a line about a run, except those that the logger writes itself."""
        job = run.job
        return {
            "worker_id": self._worker_id,
            "trace_id": job["trace_id"],
            "job_id": run.id,
            "job_type": run.type.name,
            "tenant_id": job["tenant_id"],
            "attempt_no": run.attempt,
            "duration_ms": run.duration_ms,
        }

    def flush(self) -> None:
        """Writes the lines that wait."""
        try:
            self._sink.flush()
        except Exception as error:  # noqa: BLE001 - the output may be closed
            self._failed(error)

    def _write(self, level: Level, fields: Mapping[str, Any], message: str) -> None:
        try:
            self._sink.write(level, {"worker_id": self._worker_id, **_NO_JOB, **redactor.fields(fields)}, message)
        except Exception as error:  # noqa: BLE001 - the logger is the application's
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """Reports the first failure as a warning of the process, because there is no log to write it to."""
        if self._has_failed:
            return
        self._has_failed = True
        described = describe_error(error)
        text = redactor.text(f"{described['name']}: {described['message']}")
        warnings.warn(f"A log line could not be written: {text}", RuntimeWarning, stacklevel=2)


class RunLog:
    """The logger for a handler. Its lines have the run's fields, and how long the run has taken so far."""

    __slots__ = ("_log", "_run")

    def __init__(self, log: WorkerLog, run: Run) -> None:
        self._log = log
        self._run = run

    def debug(self, message: str, /, *args: object, **fields: object) -> None:
        self._write("debug", message, args, fields)

    def info(self, message: str, /, *args: object, **fields: object) -> None:
        self._write("info", message, args, fields)

    def warning(self, message: str, /, *args: object, **fields: object) -> None:
        self._write("warning", message, args, fields)

    def error(self, message: str, /, *args: object, **fields: object) -> None:
        self._write("error", message, args, fields)

    def exception(self, message: str, /, *args: object, **fields: object) -> None:
        self._write("error", message, args, {"err": sys.exception(), **fields})

    def _write(self, level: Level, message: str, args: tuple[object, ...], fields: Mapping[str, Any]) -> None:
        is_enabled = self._log.is_enabled(level)
        is_kept = self._run.type.keep_logs != "off" and (is_enabled or level != "debug")
        if not (is_enabled or is_kept):
            return
        text = self._run.type.redactor.text(clean(message_of(message, args)))
        if is_kept:
            self._log.keep(level, self._run, fields, text)
        if is_enabled:
            self._log.job(level, self._run, fields or None, text)


def message_of(message: object, args: tuple[object, ...]) -> str:
    """The message with its arguments, as in `logging`. Arguments that do not fit are appended."""
    text = str(message)
    if not args:
        return text
    try:
        return text % (args[0] if len(args) == 1 and isinstance(args[0], dict) else args)
    except (TypeError, ValueError, KeyError):
        return f"{text} {args!r}"


class JobLogFilter(logging.Filter):
    """Puts the fields of the run on every record of `logging` that is written inside a handler, by whichever library.

    Add it to a handler of `logging`: `handler.addFilter(JobLogFilter())`. Outside of runs, the fields have no value.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        # Imported here, because runs log.
        from ..running.current import current_call

        call = current_call()
        fields = {"worker_id": None, **_NO_JOB} if call is None else call.log.fields_of(call.runs[0])
        for name, value in fields.items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True
