"""Artifacts: stores, contents of jobs, and payloads and results that are too large for the database."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import psycopg
import pytest

from jobforge import (
    ArtifactDamagedError,
    ArtifactNotFoundError,
    ArtifactStoreRequiredError,
    AsyncJobForge,
    ConnectionError,
    InvalidArgumentError,
    JobContext,
    JobForge,
    PayloadTooLargeError,
    define_job,
)
from jobforge.artifacts import ArtifactStore, FileStore, S3Store, is_stored_value, open_store, s3_client
from jobforge.worker import Worker

from .support.s3 import Bucket, s3_bucket

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

    from .conftest import Ways
    from .support.backend import Backend

LARGE = "ä" * 700_000
echo = define_job("echo", input=dict[str, str], output=dict[str, str])


@echo.handler
async def answer(input: dict[str, str], job: JobContext[Any]) -> dict[str, str]:
    return {"text": f"{input['text']}!"}


@pytest.fixture(scope="module")
def s3(backend: Backend) -> Iterator[Bucket]:
    tool = backend.tool("moto-server")
    if tool is None:
        pytest.skip("moto is not available")
    with s3_bucket(tool) as bucket:
        yield bucket


@pytest.fixture(params=["files", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    """A store of each kind."""
    if request.param == "files":
        return FileStore(tmp_path / "artifacts")
    bucket: Bucket = request.getfixturevalue("s3")
    return S3Store(bucket.bucket, prefix=f"of-{uuid4()}", **bucket.arguments())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


def files(folder: Path) -> list[str]:
    """The keys of the artifacts in a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def keys(store: ArtifactStore) -> list[str]:
    return sorted(each.ref.removeprefix("artifact:") for each in store.list(""))


def test_a_store_keeps_contents_of_any_size(store: ArtifactStore, tenant: str) -> None:
    key = f"files/{tenant}/{uuid4()}/a.bin"
    parts = [os.urandom(3_000_000) for _ in range(7)]
    put = store.put(key, iter(parts), content_type="application/x-test")
    assert (put.ref, put.bytes) == (f"artifact:{key}", 21_000_000)
    assert b"".join(store.get(put.ref)) == b"".join(parts)
    small = store.put(key, [b"now ", b"small"], content_type="text/plain")
    assert b"".join(store.get(put.ref)) == b"now small"
    empty = store.put(f"files/{tenant}/{uuid4()}/empty", [], content_type="text/plain")
    assert (b"".join(store.get(empty.ref)), empty.bytes) == (b"", 0)
    [listed] = store.list(key)
    assert (listed.ref, listed.bytes) == (put.ref, small.bytes)
    assert listed.modified_at.tzinfo is not None
    store.delete(put.ref)
    store.delete(put.ref)
    assert keys(store) == [empty.ref.removeprefix("artifact:")]
    with pytest.raises(ArtifactNotFoundError):
        next(store.get(put.ref))


def test_a_content_that_breaks_off_is_not_stored(store: ArtifactStore, tenant: str) -> None:
    def broken() -> Iterator[bytes]:
        yield os.urandom(20_000_000)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        store.put(f"files/{tenant}/{uuid4()}/a", broken(), content_type="text/plain")
    assert keys(store) == []


def test_an_upload_whose_process_was_killed_is_listed_after_an_hour_and_deleted(tmp_path: Path, tenant: str) -> None:
    store = FileStore(tmp_path)
    job = f"files/{tenant}/{uuid4()}"
    (tmp_path / job).mkdir(parents=True)
    # A process that is killed cannot clean up. Its file has this name until it is complete.
    young, old = tmp_path / job / f"{'a' * 32}.part", tmp_path / job / f"{'b' * 32}.part"
    for path in (young, old):
        path.write_text("half")
    an_hour_ago = time.time() - 3600
    os.utime(old, (an_hour_ago, an_hour_ago))
    store.put(f"{job}/the.part", [b"whole"], content_type="text/plain")
    found = [each.ref for each in store.list(f"{job}/")]
    assert found == [f"artifact:{job}/{old.name}", f"artifact:{job}/the.part"]
    for ref in found:
        store.delete(ref)
    assert files(tmp_path) == [f"{job}/{young.name}"]
    young.unlink()
    store.delete(found[0])
    assert not (tmp_path / job).exists()


@pytest.mark.parametrize("key", ["a", "files/../x/y", "files/a/b/", "files/a/b/c/d", "/files/a/b/c"])
def test_a_key_leads_nowhere_else(store: ArtifactStore, key: str) -> None:
    with pytest.raises(ArtifactNotFoundError):
        store.put(key, [b""], content_type="text/plain")
    with pytest.raises(ArtifactNotFoundError):
        store.get(f"artifact:{key}")


def test_a_link_of_s3_has_the_signature_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    # The example of a presigned URL in the documentation of AWS. The server of the tests checks no links.
    monkeypatch.setattr(s3_client, "_now", lambda: "20130524T000000Z")
    connection = s3_client.S3Connection(
        bucket="examplebucket",
        endpoint="https://s3.amazonaws.com",
        access_key="AKIAIOSFODNN7EXAMPLE",
        secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        path_style=False,
    )
    assert s3_client.S3Client(connection).link("test.txt", 86_400, {}) == (
        "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z"
        "&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )


def test_a_link_of_s3_is_for_downloads_and_a_wrong_key_is_refused(s3: Bucket, tenant: str) -> None:
    store = S3Store(s3.bucket, **s3.arguments())
    put = store.put(f"files/{tenant}/{uuid4()}/a.html", [b"<p>"], content_type="text/html")
    link = urlsplit(store.url(put.ref, 60))
    assert link.path == f"/{s3.bucket}/{put.ref.removeprefix('artifact:')}"
    given = dict(parse_qsl(link.query))
    assert given["response-content-disposition"] == 'attachment; filename="a.html"'
    assert given["X-Amz-Expires"] == "60"
    wrong = S3Store(s3.bucket, **{**s3.arguments(), "secret_key": "wrong"})
    with pytest.raises(ConnectionError, match="status 403"):
        wrong.get(put.ref)


def test_a_store_is_opened_by_its_address(s3: Bucket, tmp_path: Path, tenant: str) -> None:
    key = f"files/{tenant}/{uuid4()}/a"
    env = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    of_s3 = open_store(f"s3://{s3.bucket}/pre/fix?endpoint={s3.endpoint}", environment=env)
    assert of_s3.put(key, [b"x"], content_type="text/plain").bytes == 1
    assert keys(S3Store(s3.bucket, prefix="pre/fix", **s3.arguments())) == [key]
    open_store(f"file:{tmp_path}").put(key, [b"x"], content_type="text/plain")
    assert files(tmp_path) == [key]
    for address in ("http://x", "s3:x", "s3://bucket?color=red", "s3://key@bucket"):
        with pytest.raises(ValueError, match=r"must begin|no parameter|Pass the credentials"):
            open_store(address)


async def test_contents_of_jobs_belong_to_their_tenant(db: TestDatabase, folder: Path, tenant: str) -> None:
    async with AsyncJobForge(db.url, artifacts=FileStore(folder)) as forge:
        job = await forge.enqueue(echo, {"text": "x"}, tenant=tenant)
        artifacts = forge.artifacts
        ref = await artifacts.put("notes.txt", "Grüße", tenant=tenant, job_id=job.id, content_type="text/plain")
        assert ref == f"artifact:files/{tenant}/{job.id}/notes.txt"
        assert await artifacts.text(ref, tenant=tenant) == "Grüße"
        assert await artifacts.bytes(ref, tenant=tenant.upper()) == "Grüße".encode()
        assert await artifacts.url(ref, 60, tenant=tenant) is None
        for wrong in (str(uuid4()), tenant):
            with pytest.raises(ArtifactNotFoundError):
                await artifacts.text(ref if wrong != tenant else f"{ref}x", tenant=wrong)
        with pytest.raises(InvalidArgumentError) as refused:
            await artifacts.put("../x", b"", tenant=tenant, job_id=job.id)
        assert refused.value.field == "name"


def test_a_blocking_client_has_artifacts_too(db: TestDatabase, folder: Path, tenant: str) -> None:
    with JobForge(db.url, artifacts=FileStore(folder)) as forge:
        job = forge.enqueue(echo, {"text": "x"}, tenant=tenant)
        ref = forge.artifacts.put("a", iter([b"1", b"2"]), tenant=tenant, job_id=job.id)
        assert forge.artifacts.bytes(ref, tenant=tenant) == b"12"
        large = forge.enqueue(echo, {"text": LARGE}, tenant=tenant, offload=True)
        found = large.get()
        assert found is not None
        assert found.payload == {"text": LARGE}


async def test_large_values_go_around_the_database(db: TestDatabase, folder: Path, tenant: str) -> None:
    async with AsyncJobForge(db.url, artifacts=FileStore(folder)) as forge:
        job = await forge.enqueue(echo, {"text": LARGE}, tenant=tenant, offload=True)
        assert job.outcome == "created"
        stored = db.value("select payload from jobforge_jobs where id = %s", [job.id])
        assert is_stored_value(stored)
        without = await forge.get(job.id, tenant=tenant)
        assert without is not None
        assert without.payload == stored, "without a definition"
        await Worker(forge, handlers=[answer], offload=True).tick()
        assert await job.result(timeout=60) == {"text": f"{LARGE}!"}
        [row] = db.query("select result, artifact_ref from jobforge_job_results")
        assert row["artifact_ref"] == f"artifact:results/{tenant}/{job.id}/result-1.json"
        assert row["result"]["$artifact"] == row["artifact_ref"]
        assert len(files(folder)) == 2
        small = await forge.enqueue(echo, {"text": "small"}, tenant=tenant, offload=True)
        await Worker(forge, handlers=[answer], offload=True).tick()
        assert await small.result(timeout=60) == {"text": "small!"}
        assert len(files(folder)) == 2


async def test_every_way_of_enqueueing_offloads(db: TestDatabase, folder: Path, tenant: str) -> None:
    async with AsyncJobForge(db.url, artifacts=FileStore(folder)) as forge:
        jobs = [echo.new({"text": f"{n}{LARGE}" if n < 2 else "small"}) for n in range(3)]
        for job in await forge.enqueue_many(jobs, tenant=tenant, offload=True):
            found = await job.get()
            assert found is not None
            assert found.payload["text"] in ("small", f"0{LARGE}", f"1{LARGE}")
        counts = await forge.enqueue_stream(jobs, tenant=tenant, offload=True)
        assert counts.created == 3
        assert len(files(folder)) == 4
        async with await psycopg.AsyncConnection.connect(db.url) as connection:
            inside = await forge.on(connection).enqueue(echo, {"text": LARGE}, tenant=tenant, offload=True)
            await connection.rollback()
        assert await inside.get() is None
        assert len(files(folder)) == 5, "it is deleted a day later"


async def test_a_client_or_worker_without_a_store_says_so(db: TestDatabase, folder: Path, tenant: str) -> None:
    async with AsyncJobForge(db.url) as bare, AsyncJobForge(db.url, artifacts=FileStore(folder)) as forge:
        with pytest.raises(ArtifactStoreRequiredError):
            await bare.enqueue(echo, {"text": "x"}, tenant=tenant, offload=True)
        with pytest.raises(ArtifactStoreRequiredError):
            Worker(bare, handlers=[answer], offload=True)
        with pytest.raises(PayloadTooLargeError):
            await forge.enqueue(echo, {"text": LARGE}, tenant=tenant)
        wrong: Any = "yes"
        with pytest.raises(InvalidArgumentError, match="offload must be True or False"):
            await forge.enqueue(echo, {"text": "x"}, tenant=tenant, offload=wrong)
        job = await forge.enqueue(echo, {"text": LARGE}, tenant=tenant, offload=True, max_attempts=2)
        await Worker(bare, handlers=[answer]).tick()
        seen = await bare.get(job.id, tenant=tenant)
        assert seen is not None
        assert seen.error is not None
        assert (seen.status, seen.error["name"]) == ("queued", "ArtifactStoreRequiredError")
        with pytest.raises(ArtifactStoreRequiredError):
            await bare.get(job.id, tenant=tenant, job=echo)


async def test_a_damaged_value_is_an_error(db: TestDatabase, folder: Path, tenant: str) -> None:
    async with AsyncJobForge(db.url, artifacts=FileStore(folder)) as forge:
        job = await forge.enqueue(echo, {"text": LARGE}, tenant=tenant, offload=True)
        [name] = files(folder)
        content = (folder / name).read_bytes()
        for damaged in (content[:-1], content + b" ", content.replace(b'"text"', b'"tExt"')):
            (folder / name).write_bytes(damaged)
            with pytest.raises(ArtifactDamagedError):
                await job.get()


async def test_results_of_transactions_children_and_threads_are_offloaded(
    db: TestDatabase, folder: Path, tenant: str
) -> None:
    inside = define_job("inside", output=dict[str, str])
    threaded = define_job("threaded", output=dict[str, str])
    parent = define_job("parent", output=int)

    @inside.handler
    async def in_transaction(input: Any, job: JobContext[Any]) -> dict[str, str]:
        job.set_result({"text": LARGE})
        async with job.transaction():
            pass
        return {"text": LARGE}

    @threaded.handler
    def in_thread(input: Any, job: JobContext[Any]) -> dict[str, str]:
        job.set_result({"text": LARGE})
        with job.transaction_sync():
            pass
        return {"text": LARGE}

    @parent.handler
    async def waits(input: Any, job: JobContext[Any]) -> int:
        return len((await job.run(echo, {"text": "x" * 600_000}))["text"])

    async with AsyncJobForge(db.url, artifacts=FileStore(folder)) as forge:
        worker = Worker(forge, handlers=[in_transaction, in_thread, waits, answer], offload=True)
        for job in (inside, threaded):
            handle = await forge.enqueue(job, {}, tenant=tenant)
            await worker.tick()
            assert await handle.result(timeout=60) == {"text": LARGE}
        of_children = await forge.enqueue(parent, {}, tenant=tenant)
        await worker.tick()
        await worker.tick()
        assert await of_children.result(timeout=60) == 600_001
        assert [key.split("/")[0] for key in files(folder)] == ["results"] * 3


async def test_a_child_is_not_offloaded(db: TestDatabase, folder: Path, tenant: str) -> None:
    parent = define_job("parent")

    @parent.handler
    async def adds(input: Any, job: JobContext[Any]) -> None:
        job.enqueue(echo, {"text": "x"}, offload=True)

    async with AsyncJobForge(db.url, artifacts=FileStore(folder)) as forge:
        job = await forge.enqueue(parent, {}, tenant=tenant)
        await Worker(forge, handlers=[adds]).tick()
        found = await job.get()
        assert found is not None
        assert "offload must not be True for a child" in (found.last_error or "")


async def test_artifacts_of_forgotten_jobs_are_swept(db: TestDatabase, folder: Path, tenant: str) -> None:
    async with AsyncJobForge(db.url, artifacts=FileStore(folder)) as forge:
        job = await forge.enqueue(echo, {"text": LARGE}, tenant=tenant, offload=True)
        await forge.artifacts.put("a", b"x", tenant=tenant, job_id=job.id)
        assert len(files(folder)) == 2
        await job.cancel()
        await forge.jobs.purge(tenant=tenant, status="canceled")
        assert (await forge.artifacts.sweep()).deleted == 2
        assert (await forge.artifacts.sweep()).looked == 0
    assert files(folder) == []


async def test_over_http_the_server_has_the_store(
    backend: Backend, ways: Ways, db: TestDatabase, folder: Path, tenant: str
) -> None:
    roles = ("jobforge_tenant", "jobforge_app", "jobforge_worker", "jobforge_operator", "jobforge_reader")
    url = backend.serve(db.create_login(*roles), folder)
    try:
        token = backend.token("jobforge_app", tenant)
        async with (
            AsyncJobForge(url=url, token=token) as forge,
            AsyncJobForge(db.url, artifacts=FileStore(folder)) as worker,
        ):
            job = await forge.enqueue(echo, {"text": LARGE}, tenant=tenant, offload=True)
            found = await job.get()
            assert found is not None
            assert found.payload == {"text": LARGE}
            await Worker(worker, handlers=[answer], offload=True).tick()
            assert await job.result(timeout=60) == {"text": f"{LARGE}!"}
            with pytest.raises(ArtifactNotFoundError):
                await forge.artifacts.text(f"artifact:files/{tenant}/{job.id}/none", tenant=tenant)
        with JobForge(url=url, token=token) as blocking:
            handle = blocking.enqueue(echo, {"text": LARGE}, tenant=tenant, offload=True)
            read = handle.get()
            assert read is not None
            assert read.payload == {"text": LARGE}
    finally:
        backend.close_server(url)
