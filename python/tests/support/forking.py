"""A program that opens clients, forks, and uses them in both processes at the same time, as servers with preload do.

`python -m tests.support.forking '{"database": …}'` writes how many jobs each process has enqueued.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings

from jobforge import AsyncJobForge, JobForge, define_job

JOBS = 60
TENANT = "11111111-1111-4111-8111-111111111111"
mail = define_job("mail.send")


def enqueue(forge: JobForge, who: str) -> int:
    handles = [forge.enqueue(mail, {"who": who, "n": n}, tenant=TENANT) for n in range(JOBS)]
    return sum(handle.job is not None and handle.job.payload["who"] == who for handle in handles)


async def enqueue_on_loop(forge: AsyncJobForge, who: str) -> int:
    handles = [await forge.enqueue(mail, {"who": who, "n": n}, tenant=TENANT) for n in range(JOBS)]
    return sum(handle.job is not None and handle.job.payload["who"] == who for handle in handles)


def work(forge: JobForge, async_forge: AsyncJobForge, who: str) -> int:
    return enqueue(forge, who) + asyncio.run(enqueue_on_loop(async_forge, who))


def main() -> None:
    arguments = json.loads(sys.argv[1])
    forge, async_forge = JobForge(**arguments), AsyncJobForge(**arguments)
    # Threads and connections of this process exist before the fork.
    work(forge, async_forge, "before")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(work(forge, async_forge, "child")).encode())
        os._exit(0)
    own = work(forge, async_forge, "parent")
    os.waitpid(child, 0)
    os.close(writing)
    print(json.dumps([own, int(os.read(reading, 100) or b"0")]))  # noqa: T201 - its result


if __name__ == "__main__":
    # Python 3.12 warns of any fork while there are threads.
    warnings.simplefilter("ignore", DeprecationWarning)
    main()
