"""A durable step whose own writes and checkpoint are one transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..defaults import CALL_TIMEOUT
from ..errors import is_not_held
from .durable import stored_form

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from .context import RunContext
    from .services import RunServices

_NO_TRANSACTION: Final = "step_in() needs a worker that is connected to Postgres itself, not over HTTP"


async def run_step_in(
    services: RunServices, context: RunContext, name: str, work: Callable[[Any], Awaitable[Any]]
) -> Any:
    """`await job.step_in(name, work)`."""
    place, known = await context.play(context.durable().known_step(name))
    if known is not None:
        return known.get("value")
    kernel = _transacting(services)
    with _errors(services, context):
        async with kernel.connections, kernel.transport.transaction() as opened:
            value = stored_form(await work(opened.connection), place)
            args = _arguments(services, context, place, value)
            await opened.transport.call("jobforge_save_steps", args, timeout=CALL_TIMEOUT)
    return value


def run_step_in_sync(services: RunServices, context: RunContext, name: str, work: Callable[[Any], Any]) -> Any:
    """`job.step_in_sync(name, work)`, in a thread."""
    place, known = context.play_sync(context.durable().known_step(name))
    if known is not None:
        return known.get("value")
    kernel = _transacting(services)
    with (
        _errors(services, context),
        services.thread_connection(context.held_run),
        kernel.blocking().transaction() as opened,
    ):
        value = stored_form(work(opened.connection), place)
        args = _arguments(services, context, place, value)
        opened.transport.call("jobforge_save_steps", args, timeout=CALL_TIMEOUT)
    return value


def _transacting(services: RunServices) -> Any:
    if not services.kernel.transport.can_transact:
        raise RuntimeError(_NO_TRANSACTION)
    return services.kernel


def _arguments(services: RunServices, context: RunContext, name: str, value: object) -> Mapping[str, object]:
    fence = services.store(context).fence
    return {**fence, "p_steps": [{"name": name, "value": value}]}


@contextmanager
def _errors(services: RunServices, context: RunContext) -> Iterator[None]:
    """An error of a run that is over must not start what the handler does about errors."""
    try:
        yield
    except Exception as error:
        if is_not_held(error):
            services.on_loop(lambda: services.lost(context.held_run))
        services.store(context).require_open()
        raise
