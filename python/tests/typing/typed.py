"""What type checkers must accept, and what they must refuse: each line that ends with `# wrong` is an error."""

from dataclasses import dataclass
from datetime import date
from typing import assert_type

from pydantic import BaseModel

from jobforge import AsyncJobForge, EnqueuedJob, JobContext, JobForge, NewJob, define_job, job


class Mail(BaseModel):
    to: str


@dataclass
class Receipt:
    message_id: str


@dataclass
class Resources:
    prefix: str


send_mail = define_job("mail.send", input=Mail, output=Receipt, subject=lambda mail: mail.to)
define_job("mail.send", input=Mail, subject=lambda mail: mail.too)  # wrong
define_job("mail.send", retry="sometimes")  # wrong


@send_mail.handler
async def send(mail: Mail, job: JobContext[Resources]) -> Receipt:
    return Receipt(job.resources.prefix + mail.to)


@send_mail.handler  # wrong
async def returns_another(mail: Mail, job: JobContext) -> int:
    return 1


@job("report.build", timeout=600, run_in="process")
def build(job: JobContext, month: date, formats: list[str]) -> str:
    return str(month) + str(formats)


@job("count")
async def count(job: JobContext, upto: int = 3) -> int:
    return upto


assert_type(build.new(date(2026, 11, 1), formats=["pdf"]), NewJob[str])
assert_type(count.new(), NewJob[int])
build.new("2026-11", formats=[])  # wrong
build.new(date(2026, 11, 1))  # wrong


def blocking(forge: JobForge) -> None:
    handle = forge.enqueue(send_mail, Mail(to="ada"), tenant="t", priority=5)
    assert_type(handle, EnqueuedJob[Receipt])
    assert_type(handle.result(timeout=5), Receipt)
    assert_type(forge.enqueue(build.new(date(2026, 11, 1), formats=[]), tenant="t").result(), str)
    forge.enqueue(send_mail, {"to": 1}, tenant="t")  # wrong
    forge.enqueue(send_mail, Mail(to="ada"))  # wrong
    forge.enqueue(send_mail, Mail(to="ada"), tenant="t", priorty=5)  # wrong
    forge.list(tenant="t", status="late")  # wrong


async def asynchronous(forge: AsyncJobForge) -> None:
    handle = await forge.enqueue(send_mail, Mail(to="ada"), tenant="t")
    assert_type(await handle.result(), Receipt)
    many = await forge.enqueue_many([count.new(1), count.new(2)], tenant="t")
    assert_type(await many[0].result(), int)
    async for found in forge.list(tenant="t", job=send_mail, status="dead"):
        assert_type(found.attempts, int)
