"""How failed runs are retried."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from .arguments import check_number, check_one_of, check_range, describe, milliseconds, refuse
from .words import BOUNDS, UNSET, RetryPreset, Unset

if TYPE_CHECKING:
    from .arguments import Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The wait after the n-th failure is `min(cap, base * factor ** (n - 1))` seconds. What is not given stays."""

    base: Duration | None = None
    cap: Duration | None | Unset = UNSET
    """None: no cap but one year."""
    factor: float | None = None
    jitter: float | None = None
    """The share of a wait by which it is randomly shortened or lengthened, 0 to 1."""
    max_attempts: int | None = None
    """The total number of executions."""

    def keys(self, at: str = "") -> dict[str, object]:
        """The settings under the kernel's keys, checked."""
        keys: dict[str, object] = {}
        if self.base is not None:
            keys["base_ms"] = milliseconds(self.base, f"{at}base", BOUNDS["retry_ms"])
        if self.cap is not UNSET:
            cap = self.cap
            keys["cap_ms"] = None if cap is None else milliseconds(cap, f"{at}cap", BOUNDS["retry_ms"])
        if self.factor is not None:
            keys["factor"] = check_number(self.factor, f"{at}factor", BOUNDS["retry_factor"])
        if self.jitter is not None:
            keys["jitter"] = check_number(self.jitter, f"{at}jitter", BOUNDS["retry_jitter"])
        if self.max_attempts is not None:
            keys["max_attempts"] = check_range(self.max_attempts, f"{at}max_attempts", BOUNDS["max_attempts"])
        return keys


_STANDARD: Final = RetryPolicy(base=1, cap=3600, factor=2, max_attempts=5)
_QUICK: Final = RetryPolicy(base=1, cap=60, factor=2, max_attempts=6)
_GENTLE: Final = RetryPolicy(base=10, cap=None, factor=2, max_attempts=4)
_PATIENT: Final = RetryPolicy(base=30, cap=600, factor=2, max_attempts=5)
_WEBHOOK: Final = RetryPolicy(base=5, cap=36_000, factor=5, jitter=0.2, max_attempts=12)

RETRY_PRESETS: Final = MappingProxyType(
    {
        "standard": _STANDARD,
        "quick": _QUICK,
        "gentle": _GENTLE,
        "patient": _PATIENT,
        "webhook": _WEBHOOK,
        "jobforge": _STANDARD,
        "harmonyk": _QUICK,
        "atlas": _GENTLE,
        "processing": _PATIENT,
    }
)
"""The presets with their settings, and the other names of the same presets."""

RETRY_PRESET_NAMES: Final = ("standard", "quick", "gentle", "patient", "webhook")
"""The names that errors recommend. The other names are older, and still accepted."""


def check_preset(value: object, field: str) -> str:
    """The name of a preset."""
    if isinstance(value, str) and value in RETRY_PRESETS:
        return value
    return check_one_of(value, field, RETRY_PRESET_NAMES)


def retry_of(retry: RetryPreset | RetryPolicy | None, field: str = "retry") -> RetryPolicy | None:
    """The numbers of a definition's `retry`, checked."""
    if retry is None:
        return None
    if isinstance(retry, str):
        return RETRY_PRESETS[check_preset(retry, field)]
    if not isinstance(retry, RetryPolicy):
        hint = f"Pass one of {', '.join(RETRY_PRESET_NAMES)}, or RetryPolicy(max_attempts=3)."
        refuse(field, f"must be a preset or a RetryPolicy, not {describe(retry)}", hint)
    retry.keys(f"{field}.")
    return retry
