"""Log lines: the ten fields, no payloads, the log level, and the application's own loggers."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import signal
import warnings
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import JobContext, define_job
from jobforge.worker import JobLogFilter
from jobforge.worker.reporting.human import human_line
from jobforge.worker.reporting.sinks import JsonSink, Output

from ..support import TENANT, Happening, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..children import Child
    from ..conftest import Workers
    from ..support import Jobs, KeptLog

MODULE = "tests.worker.child_handlers"
FIELDS = {
    "timestamp",
    "level",
    "worker_id",
    "trace_id",
    "job_id",
    "job_type",
    "tenant_id",
    "attempt_no",
    "message",
    "duration_ms",
}
a = define_job("a")


class Keeping(logging.Handler):
    """Passes records on."""

    def __init__(self, keep: Callable[[logging.LogRecord], object]) -> None:
        super().__init__()
        self._keep = keep

    def emit(self, record: logging.LogRecord) -> None:
        self._keep(record)


async def test_every_line_is_json_with_the_ten_fields_and_no_payload(
    jobs: Jobs, children: Callable[..., Child]
) -> None:
    secret = "4111-1111-1111-1111"
    id = await jobs.one("a", f'{{"do": "sleep", "seconds": 0.02, "card": "{secret}"}}')
    child = children("worker", MODULE, "--id", "w-1")
    succeeded = await child.logged("Job succeeded")
    child.send(signal.SIGTERM)
    assert await child.ended() == 0
    assert child.noise == []
    for line in child.lines:
        assert line.keys() >= FIELDS
        assert line["worker_id"] == "w-1"
        assert line["timestamp"].endswith("Z")
        assert datetime.fromisoformat(line["timestamp"]).utcoffset() is not None
        assert secret not in json.dumps(line)
    trace_id = await jobs.value("select trace_id from jobforge_job_attempts where job_id = %s", id)
    facts = {"level": "info", "job_id": id, "job_type": "a", "tenant_id": TENANT, "attempt_no": 1, "trace_id": trace_id}
    assert facts.items() <= succeeded.items()
    assert succeeded["duration_ms"] >= 19
    own = next(line for line in child.lines if line["message"] == "handler started")
    assert (own["job_id"], own["trace_id"]) == (id, trace_id)
    assert "Job started" in child.messages()


async def test_log_level_decides_what_is_written(jobs: Jobs, children: Callable[..., Child]) -> None:
    await jobs.one("a")
    child = children("worker", MODULE, env={"LOG_LEVEL": "error"})
    await jobs.finished(1)
    child.send(signal.SIGTERM)
    assert await child.ended() == 0
    assert child.lines == []


async def test_a_handler_cannot_replace_the_ten_fields_and_secrets_are_masked(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    listed = define_job("listed", redact=["iban"])

    @listed.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.log.info("token=s3cr3t sent", job_id="mine", level="fatal", timestamp=1, step=2, iban="DE1", password="x")
        job.log.error("could not print", err=TypeError("password=hunter2"))

    id = await jobs.one("listed")
    await workers.make(handlers=[handle]).tick()
    line = log.find("token=[redacted] sent")
    assert (line["job_id"], line["level"], line["step"]) == (id, "info", 2)
    assert (line["iban"], line["password"]) == ("[redacted]", "[redacted]")
    assert "timestamp" not in line, "the logger writes it itself"
    error = log.find("could not print")["err"]
    assert (error["type"], error["message"]) == ("TypeError", "password=[redacted]")


async def test_lines_go_to_a_logger_of_the_standard_library(workers: Workers, jobs: Jobs) -> None:
    records: list[logging.LogRecord] = []
    logger = logging.Logger("test", logging.INFO)  # noqa: LOG001 - a logger of this test only
    logger.addHandler(Keeping(records.append))

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.log.debug("too quiet")
        job.log.info("from the handler", name="a name of LogRecord", step=2)
        raise ValueError("failed on purpose")

    id = await jobs.one("a")
    await workers.make(handlers=[handle], logger=logger).tick()
    assert [record.getMessage() for record in records] == ["from the handler", "Job failed and will be retried"]
    first, second = (vars(record) for record in records)
    assert (first["job_id"], first["step"], first["name_"], first["name"]) == (id, 2, "a name of LogRecord", "test")
    assert (second["error"], second["error_name"], second["attempt_no"]) == ("failed on purpose", "ValueError", 1)
    assert second["levelname"] == "WARNING"


async def test_a_handler_logs_as_with_logging(workers: Workers, jobs: Jobs, log: KeptLog) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.log.info("Sending %d to %s", 3, "ada")
        job.log.info("%(count)d sent", {"count": 3})
        job.log.info("100% sent", done=True)
        job.log.warning("Sent", "ada")  # noqa: PLE1205 - what the test is about
        job.log.info("A field with the name of an argument", message="hidden", level=3)
        try:
            raise ValueError("no such address")
        except ValueError:
            job.log.exception("Not sent to %s", "grace", step=2)

    await jobs.one("a")
    await workers.make(handlers=[handle]).tick()
    texts = [
        "Sending 3 to ada",
        "3 sent",
        "100% sent",
        "Sent ('ada',)",
        "A field with the name of an argument",
        "Not sent to grace",
    ]
    assert log.messages()[-7:] == [*texts, "Job succeeded"]
    line = log.find("Not sent")
    assert (line["level"], line["step"], line["err"]["message"]) == ("error", 2, "no such address")
    assert "test_log.py" in line["err"]["stack"]


async def test_records_of_libraries_have_the_fields_of_the_run(workers: Workers, jobs: Jobs) -> None:
    records: list[dict[str, Any]] = []
    library = logging.getLogger("a.library.of.this.test")
    library.setLevel(logging.INFO)
    handler = Keeping(lambda record: records.append(vars(record)))
    handler.addFilter(JobLogFilter())
    library.addHandler(handler)
    b = define_job("b")

    @a.handler
    async def on_loop(input: Any, job: JobContext) -> None:
        await asyncio.sleep(0)
        library.info("in the task")

    @b.handler
    def in_thread(input: Any, job: JobContext) -> None:
        library.info("in the thread")

    ids = {await jobs.one("a"), await jobs.one("b")}
    library.info("outside")
    await workers.make(handlers=[on_loop, in_thread], id="w1").tick()
    library.removeHandler(handler)
    assert records[0]["job_id"] is None
    assert {record["job_id"] for record in records[1:]} == ids
    assert {record["worker_id"] for record in records[1:]} == {"w1"}
    assert {record["job_type"] for record in records[1:]} == {"a", "b"}


async def test_a_logger_that_fails_is_reported_once_and_jobs_go_on(workers: Workers, jobs: Jobs) -> None:
    class Fails:
        def debug(self, message: str, /, **fields: Any) -> None:
            raise OSError("disk full")

        info = warning = error = debug

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.log.info("hello")

    await jobs.enqueue("a", 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        summary = await workers.make(handlers=[handle], logger=Fails()).tick()
    assert summary.succeeded == 3
    told = [str(each.message) for each in caught if "log line" in str(each.message)]
    assert told == ["A log line could not be written: OSError: disk full"]


def test_lines_for_people_have_no_empty_fields_and_no_control_characters() -> None:
    fields = {"job_type": "a", "job_id": None, "trace_id": "t", "error": "x", "stack": "Traceback:\n  File"}
    line = human_line("12:00:00.000", "error", fields, "Job \x1b[31mfailed")
    assert line == "12:00:00.000 ERROR Job  [31mfailed [job_type=a]\n    Traceback:\n      File\n"


async def test_the_output_is_written_once_for_all_lines_of_a_turn() -> None:
    writes: list[str] = []

    class Stream(io.StringIO):
        def write(self, text: str, /) -> int:
            writes.append(text)
            return len(text)

    sink = JsonSink(0, Output(Stream()))
    for number in range(3):
        sink.write("info", {"n": number}, f"line {number}")
    assert writes == []
    await asyncio.sleep(0)
    assert len(writes) == 1
    assert [json.loads(line)["n"] for line in writes[0].splitlines()] == [0, 1, 2]
    # Other threads write at once.
    await asyncio.to_thread(sink.write, "info", {}, "from a thread")
    assert "from a thread" in writes[1]


@pytest.mark.parametrize("kind", ["dead", "failed", "queued"])
async def test_the_message_says_what_becomes_of_the_job(workers: Workers, jobs: Jobs, log: KeptLog, kind: str) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        if kind == "failed":
            job.fail("no")
        raise ValueError("no")

    attempts = 1 if kind == "dead" else 5
    await jobs.rows("select jobforge_enqueue_job(%s, 'a', p_max_attempts => %s)", TENANT, attempts)
    await workers.make(handlers=[handle]).tick()
    expected = {
        "dead": ("error", "Job failed in its last attempt"),
        "failed": ("error", "Job failed and will not be retried"),
        "queued": ("warning", "Job failed and will be retried"),
    }[kind]
    line = log.find(expected[1])
    assert line["level"] == expected[0]
    assert line["error"] == "no"


async def test_hooks_that_fail_are_logged(workers: Workers, jobs: Jobs, log: KeptLog) -> None:
    from jobforge.worker import Hooks

    dead: Happening[Any] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        raise ValueError("no")

    async def fails(event: Any) -> None:
        raise RuntimeError("async hook")

    def also_fails(event: Any) -> None:
        raise RuntimeError("hook")

    await jobs.rows("select jobforge_enqueue_job(%s, 'a', p_max_attempts => 1)", TENANT)
    hooks = Hooks(on_start=also_fails, on_failure=fails, on_dead=dead.now)
    await workers.start(handlers=[handle], hooks=hooks)
    event = await dead.once()
    assert (event.status, event.full_message, event.error["name"]) == ("dead", "no", "ValueError")
    assert not hasattr(event, "payload")

    async def are_logged() -> bool:
        return len([line for line in log.lines if "hook" in line]) == 2

    await until(are_logged)
    assert log.find("The hook on_start failed; the job is not affected")["level"] == "error"
    assert log.find("The hook on_failure failed; the job is not affected")["err"]["message"] == "async hook"
