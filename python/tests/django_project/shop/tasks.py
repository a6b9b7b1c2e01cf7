"""Tasks, as every Django project writes them."""

from typing import Any

from django.db import connection
from django.tasks import TaskContext, task

from jobforge import JobContext, define_job


@task(priority=5)
def resize(image_id: int, width: int) -> int:
    return image_id * width


@task(takes_context=True)
def greet(context: TaskContext, name: str) -> dict[str, Any]:
    return {"attempt": context.attempt, "name": name}


@task
async def wait() -> str:
    return "done"


@task(type="image.blur")
def blur(image_id: int) -> int:
    return image_id * 2


@task
def broken() -> None:
    raise ValueError("broken")


count_tables = define_job("tables.count")


@count_tables.handler
def on_count(input: Any, job: JobContext) -> int:
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_catalog.pg_tables")
        return int(cursor.fetchone()[0])
