"""Job definitions from a scenario's data."""

from __future__ import annotations

from typing import Any

from pydantic import create_model

from jobforge import JobDefinition, RetryPolicy, define_job

_KINDS: dict[str, Any] = {"string": str, "number": float, "boolean": bool}


def definition_of(type: Any, definitions: dict[str, Any] | None) -> JobDefinition[Any, Any]:
    """The definition of a type. A type that the scenario does not define has no options."""
    options = dict((definitions or {}).get(type, {})) if isinstance(type, str) else {}
    options.pop("batch_size", None)
    attempts = options.pop("max_attempts", None)
    if attempts is not None:
        options["retry"] = RetryPolicy(max_attempts=attempts)
    for place in ("input", "output"):
        if place in options:
            keys: dict[str, Any] = {key: (_KINDS[kind], ...) for key, kind in options[place].items()}
            options[place] = create_model(place, **keys)
    return define_job(type, **options)
