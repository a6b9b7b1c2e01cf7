"""Handlers in a module that Django does not look for."""

from typing import Any

from jobforge import JobContext, define_job

greet = define_job("greet")


@greet.handler
async def on_greet(input: Any, job: JobContext) -> str:
    return f"Hello {input['name']}"
