"""JobForge, over Postgres or over HTTP, with its defaults, which are also its best settings."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import secrets
import time
from typing import Any

from jobforge import AsyncJobForge, JobContext, RetryPolicy, define_job
from jobforge.migrate import migrate
from jobforge.worker import Worker

from queues import Order, Queue, Stop

noop = define_job("noop", retry=RetryPolicy(base=0, max_attempts=5))


def tenant_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number + 1:012d}"


class JobForgeQueue(Queue):
    package = "jobforge"
    bulk = 10_000
    keeps = "every job with its payload, timings and last error, for its retention (30 days)"
    settings = "defaults: concurrency 10, batches of 500, up to 1,000 claimed ahead; bulk: 10,000 in a call"

    async def prepare(self) -> None:
        await asyncio.to_thread(migrate, self.url)
        async with AsyncJobForge(database=self.url) as forge:
            await forge.sync([noop])

    async def open(self, calls: int) -> None:
        self.sender = AsyncJobForge(database=self.url)

    def sender_of(self, tenant: str) -> AsyncJobForge:
        return self.sender

    async def send(self, job: dict[str, Any], delay: float) -> None:
        tenant = tenant_of(job["tenant"])
        await self.sender_of(tenant).enqueue(noop, job, tenant=tenant, delay=delay)

    async def send_many(self, jobs: list[dict[str, Any]], delay: float) -> None:
        await self.sender.enqueue_many(
            [noop.new(job).using(tenant=tenant_of(job["tenant"]), delay=delay) for job in jobs]
        )

    async def open_worker(self) -> AsyncJobForge:
        return AsyncJobForge(database=self.url)

    async def work(self, order: Order) -> Stop:
        forge = await self.open_worker()

        async def run(job: dict[str, Any], context: JobContext) -> None:
            await order.run(job, context.attempt)

        options = {} if order.concurrency is None else {"concurrency": order.concurrency}
        worker = Worker(forge, handlers=[noop.handler(run)], **options)
        await worker.start()

        async def stop() -> None:
            await worker.stop()
            await forge.close()

        return stop

    async def close(self) -> None:
        await self.sender.close()


class JobForgeOverHttp(JobForgeQueue):
    """A server of JobForge runs next to the contestant, and is part of what its process costs."""

    settings = f"{JobForgeQueue.settings}; through a server of JobForge in a process of its own"

    def __init__(self, *, best: bool) -> None:
        super().__init__(best=best)
        self.secret = secrets.token_hex(32)
        self.address: asyncio.Task[str] | None = None
        self.senders: dict[str, AsyncJobForge] = {}

    async def open(self, calls: int) -> None:
        self.senders = {}
        await self.server()

    def sender_of(self, tenant: str) -> AsyncJobForge:
        assert self.address is not None
        if tenant not in self.senders:
            token = self.token(role="jobforge_app", tenant_id=tenant)
            self.senders[tenant] = AsyncJobForge(url=self.address.result(), token=token)
        return self.senders[tenant]

    async def send_many(self, jobs: list[dict[str, Any]], delay: float) -> None:
        by_tenant: dict[str, list[dict[str, Any]]] = {}
        for job in jobs:
            by_tenant.setdefault(tenant_of(job["tenant"]), []).append(job)
        for tenant, some in by_tenant.items():
            await self.sender_of(tenant).enqueue_many(
                [noop.new(job) for job in some], tenant=tenant, delay=delay
            )

    async def open_worker(self) -> AsyncJobForge:
        return AsyncJobForge(url=await self.server(), token=self.token(role="jobforge_worker"))

    async def close(self) -> None:
        for sender in self.senders.values():
            await sender.close()

    async def server(self) -> str:
        if self.address is None:
            self.address = asyncio.create_task(start_server(self.url, self.secret))
        return await self.address

    def token(self, **claims: str) -> str:
        """A signed token, as the application's own sign-in would issue it."""
        parts = [{"alg": "HS256", "typ": "JWT"}, {**claims, "exp": int(time.time()) + 86_400}]
        signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{encoded(hmac.digest(self.secret.encode(), signed.encode(), hashlib.sha256))}"


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


async def start_server(database: str, secret: str) -> str:
    """Starts a server that ends with this process, because its standard input is closed then. Returns its address."""
    command = json.loads(os.environ["JOBFORGE_SERVER_COMMAND"])
    pipe = asyncio.subprocess.PIPE
    env = {**os.environ, "DATABASE_URL": database, "JOBFORGE_JWT_SECRET": secret}
    server = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=env)
    assert server.stdout is not None
    running.append(server)
    return (await server.stdout.readline()).decode().strip()


# A process that nothing refers to would be closed.
running: list[asyncio.subprocess.Process] = []


def make(variant: str, *, best: bool) -> Queue:
    return JobForgeOverHttp(best=best) if variant == "http" else JobForgeQueue(best=best)
