"""Tasks, as every Django project writes them."""

from typing import Any

from django.tasks import TaskContext, task


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
