"""The options that differ between best and default settings of Procrastinate."""

import dataclasses
import os
from typing import Any


@dataclasses.dataclass(frozen=True)
class Settings:
    text: str
    keeps: str
    bulk_batch: int
    # Arguments of the worker and of its pool. The library's default applies to arguments that are not set.
    worker: dict[str, Any]
    pool: dict[str, Any]

    def sender_pool(self, calls: int) -> dict[str, Any]:
        """At best settings, each concurrent call has a connection, which is open before the measurement starts."""
        return {"min_size": calls, "max_size": calls} if self.pool else {}


BEST = Settings(
    text="concurrency 30, fetch_job_polling_interval 0.5 s, pool 20, delete_jobs successful; bulk by batch_defer of 1000",
    keeps="nothing of jobs that succeeded",
    bulk_batch=1000,
    worker={"concurrency": 30, "fetch_job_polling_interval": 0.5, "delete_jobs": "successful"},
    pool={"min_size": 20, "max_size": 20},
)

DEFAULT = Settings(
    text="concurrency 1, fetch_job_polling_interval 5 s, psycopg's own pool size, delete_jobs never; bulk by batch_defer of 1000",
    keeps="finished jobs in the same table, and an event for every change, forever",
    bulk_batch=1000,
    worker={},
    pool={},
)


def chosen() -> Settings:
    name = os.environ.get("BENCH_SETTINGS", "")
    if name not in ("best", "default"):
        raise SystemExit(f"BENCH_SETTINGS is {name!r}; it must be best or default")
    return BEST if name == "best" else DEFAULT
