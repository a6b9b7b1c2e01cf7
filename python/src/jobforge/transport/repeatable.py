"""Which calls may be sent again when it is not known whether the first one has taken effect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ..jsontext import JsonText
from ..words import UNSET
from .functions import api_function

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAME_AGAIN: Final = frozenset(
    {
        "jobforge_ensure_schedule",
        "jobforge_explain_job",
        "jobforge_explain_workflow",
        "jobforge_get_tenant",
        "jobforge_heartbeat_job",
        "jobforge_heartbeat_worker",
        "jobforge_progress_job",
        "jobforge_wake_workers",
        "jobforge_watch_job",
    }
)
"""Functions that write, and leave the same behind when they are called twice with the same arguments."""


def is_repeatable(name: str, args: Mapping[str, object]) -> bool:
    """Whether a second call leaves behind what one call leaves behind.

    So it is if the function only reads or always writes the same, and if idempotency keys make sure that a second
    enqueue or start finds the first one.
    """
    if name in _SAME_AGAIN or api_function(name).is_read_only:
        return True
    match name:
        case "jobforge_enqueue_job":
            return args.get("p_idempotency_key", UNSET) not in (UNSET, None)
        case "jobforge_enqueue_jobs" | "jobforge_enqueue_each":
            return all(_has_key(each) for each in _plain(args["p_jobs"]))
        case "jobforge_start_workflow":
            return _has_key(_plain(args.get("p_options", {})))
        case "jobforge_start_workflows":
            return all(_has_key(each.get("options", {})) for each in _plain(args["p_workflows"]))
        case _:
            return False


def _has_key(options: Mapping[str, Any]) -> bool:
    return options.get("idempotency_key") is not None


def _plain(value: object) -> Any:
    return json.loads(value.text) if isinstance(value, JsonText) else value
