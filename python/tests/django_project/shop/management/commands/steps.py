"""What the tests do inside the project."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction
from django.tasks import default_task_backend, task
from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
from django.tasks.signals import task_enqueued

from jobforge import define_job
from jobforge.django import forge
from shop.more import greet as greet_job
from shop.tasks import blur, broken, count_tables, greet, resize, wait
from shop.tenancy import current_tenant


def other() -> None:
    """A function whose task would have the type of another one."""


class RollbackError(Exception):
    """Ends a transaction."""


class Command(BaseCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("arguments", nargs="*")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps(getattr(self, options["name"])(*options["arguments"])))

    def enqueue_in_transactions(self) -> dict[str, Any]:
        heard: list[Any] = []
        task_enqueued.connect(lambda **given: heard.append(given["task_result"]), weak=False)
        with transaction.atomic():
            committed = resize.enqueue(7, width=100)
        lost = None
        try:
            with transaction.atomic():
                lost = resize.enqueue(8, width=100)
                raise RollbackError
        except RollbackError:
            pass
        try:
            found = None if lost is None else default_task_backend.get_result(lost.id).status
        except TaskResultDoesNotExist:
            found = None
        committed.refresh()
        return {"committed": committed.status, "rolled_back": found, "signals": len(heard)}

    def enqueue_all(self) -> dict[str, str]:
        tasks = {
            "resize": resize.enqueue(7, width=100),
            "context": greet.enqueue("ada"),
            "asynchronous": wait.enqueue(),
            "broken": broken.enqueue(),
        }
        return {name: result.id for name, result in tasks.items()}

    def result(self, id: str) -> dict[str, Any]:
        found = default_task_backend.get_result(id)
        return {
            "status": found.status,
            "value": found.return_value if found.status == "SUCCESSFUL" else None,
            "errors": [error.exception_class_path for error in found.errors],
            "workers": len(found.worker_ids),
        }

    def enqueue_named(self) -> str:
        return str(blur.enqueue(7).id)

    def enqueue_jobs(self) -> list[str]:
        jobs = [count_tables.new({}), greet_job.new({"name": "Ada"})]
        return [handle.id for handle in forge.enqueue_many(jobs, tenant=current_tenant())]

    def results(self, *ids: str) -> list[Any]:
        return [forge.result(id, tenant=current_tenant(), timeout=20) for id in ids]

    def define_twice(self) -> str:
        try:
            task(type="image.blur")(other)
        except InvalidTask as error:
            return str(error)
        return ""

    def enqueue_definitions(self) -> dict[str, bool]:
        job = define_job("mail.send")
        with transaction.atomic():
            kept = forge.enqueue(job, {}, tenant=current_tenant())
        lost = kept
        try:
            with transaction.atomic():
                lost = forge.enqueue(job, {}, tenant=current_tenant())
                raise RollbackError
        except RollbackError:
            pass
        return {"committed": kept.get() is not None, "rolled_back": lost.get() is not None}
