"""Counts the executions of this process and their waits."""

import time


def epoch_ms() -> float:
    return time.time() * 1000


class Measures:
    def __init__(self) -> None:
        self.done = 0
        self.first = 0.0
        self.last = 0.0
        self.waits: list[tuple[int, float]] = []

    def wait(self, tenant: int, ms: float) -> None:
        self.waits.append((tenant, ms))

    def ended(self, began: float) -> None:
        self.first = min(began, self.first) if self.done else began
        self.done += 1
        self.last = epoch_ms()

    def count(self) -> dict:
        return {"done": self.done, "first": self.first, "last": self.last}

    def take_waits(self, first: int | None, last: int | None) -> dict:
        """Returns the waits of the tenants from first to last, both included, and removes them. Other waits remain."""

        def asked(tenant: int) -> bool:
            return (first is None or tenant >= first) and (last is None or tenant <= last)

        taken = sorted(ms for tenant, ms in self.waits if asked(tenant))
        self.waits = [wait for wait in self.waits if not asked(wait[0])]
        if not taken:
            return {"n": 0, "p50": 0, "p95": 0, "p99": 0, "max": 0}

        def at(share: float) -> float:
            return taken[int(len(taken) * share)]

        return {"n": len(taken), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": taken[-1]}
