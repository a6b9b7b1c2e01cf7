"""The lines of a run's log that are sent with its end, to be kept with the attempt.

They are the last 200, and of these the last 64 kB. The database has the same bounds (log_lines and log_bytes in
defaults.sql), and masks secrets once more.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ...jsontext import to_storable_json
from ...words import BOUNDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .sinks import Level

# The largest line with its fields. A line without fields is shorter, because its message is cut.
_MAX_LINE_BYTES: Final = 16_384


class KeptLog:
    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._bytes = 0
        self._dropped = 0

    def add(self, level: Level, fields: Mapping[str, Any] | None, message: str) -> None:
        """Adds a line. Its message and fields have no secrets."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        text = _line_json({"at": at, "level": "warn" if level == "warning" else level, "message": message}, fields)
        self._lines.append(text)
        self._bytes += len(text.encode())
        while len(self._lines) > BOUNDS["log_lines"].max or self._bytes > BOUNDS["log_bytes"].max:
            self._bytes -= len(self._lines.popleft().encode())
            self._dropped += 1

    def json(self) -> str:
        """The log as the database reads it."""
        return f'{{"lines":[{",".join(self._lines)}],"dropped":{self._dropped}}}'


def is_sent(keep_logs: str | None, status: str) -> bool:
    """Whether the log of a run that ends with this status is sent. Until the policy is known, the database decides."""
    return keep_logs is None or keep_logs == "all" or (keep_logs == "failed" and status == "failed")


def _line_json(line: Mapping[str, Any], fields: Mapping[str, Any] | None) -> str:
    """Fields that are too large, or that have no JSON form, are left out, and the line says so."""
    text = to_storable_json(line, "line").text
    if fields is None:
        return text
    try:
        whole = to_storable_json({**line, "fields": fields}, "fields").text
    except Exception:  # noqa: BLE001 - a value without a JSON form
        whole = None
    if whole is None or len(whole.encode()) > _MAX_LINE_BYTES:
        return f'{text[:-1]},"truncated":true}}'
    return whole
