"""Makes one call of the loop at a time, and keeps the hints that its next claims pass back to the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .protocol import ClaimRequest

MAX_HINTS: Final = 16


class Caller:
    __slots__ = ("_hints", "is_busy")

    def __init__(self) -> None:
        self.is_busy = False
        # By the types of the claim that returned them.
        self._hints: dict[tuple[str, ...], Any] = {}

    def hint_for(self, request: ClaimRequest) -> Any:
        return self._hints.get(request.types)

    def keep_hint(self, request: ClaimRequest, hint: Any) -> None:
        if len(self._hints) >= MAX_HINTS:
            self._hints.clear()
        self._hints[request.types] = hint
