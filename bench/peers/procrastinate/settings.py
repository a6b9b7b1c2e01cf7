"""What differs between Procrastinate at its best and as it comes."""

import dataclasses
import os
from typing import Any


@dataclasses.dataclass(frozen=True)
class Settings:
    text: str
    keeps: str
    bulk_batch: int
    # Arguments of the worker and of its pool; what is left out stays as the library has it.
    worker: dict[str, Any]
    pool: dict[str, Any]

    def sender_pool(self, calls: int) -> dict[str, Any]:
        """At its best there is a connection for every call at a time, open before any clock starts."""
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
    keeps="finished jobs in the same table, and an event for every change, for ever",
    bulk_batch=1000,
    worker={},
    pool={},
)


def chosen() -> Settings:
    name = os.environ.get("BENCH_SETTINGS", "")
    if name not in ("best", "default"):
        raise SystemExit(f"BENCH_SETTINGS is {name!r}, not best or default")
    return BEST if name == "best" else DEFAULT
