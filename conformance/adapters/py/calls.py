"""The methods of a client, by the names that scenarios use."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from .definitions import definition_of
from .names import to_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobforge import AsyncJobForge, JobForge


async def invoke(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Calls a method of either client, and reads lists to their end. A blocking one runs in a thread."""
    if inspect.iscoroutinefunction(method):
        return await method(*args, **options)
    made = await asyncio.to_thread(method, *args, **options)
    if hasattr(made, "__aiter__"):
        return [each async for each in made]
    return await asyncio.to_thread(list, made) if hasattr(made, "page") else made


async def call_method(forge: AsyncJobForge | JobForge, request: dict[str, Any]) -> Any:
    """`gates.pause` is the method `pause` of the group `gates`."""
    args = {name: value for name, value in request.items() if name not in ("handlers", "definitions", "method")}
    name = request["method"]
    method: Any = forge
    for part in name.split("."):
        method = getattr(method, part)
    positional: list[Any] = []
    if name.startswith("schedules."):
        positional = [definition_of(args.pop("type"), request.get("definitions")), args.pop("key")]
    elif name == "policies.get":
        positional = [args.pop("type")]
    elif name == "sync":
        positional = [[definition_of(args.pop("type"), request.get("definitions"))]]
    elif name == "signal":
        positional = [args.pop("id"), args.pop("name"), args.pop("payload")]
    elif "id" in args:
        positional = [args.pop("id")]
    scope, changes = args.pop("scope", None), args.pop("changes", {})
    # The scope `all` is the call without any scope.
    named = scope if isinstance(scope, dict) else {}
    return await invoke(method, *positional, **to_options({**args, **named, **changes}))
