"""The handlers of the connectors, set up by the environment of the worker.

JOBFORGE_EGRESS_POLICY is the file of the operator's policy, JOBFORGE_EGRESS=loopback allows this machine for
development (`public` does not), and JOBFORGE_SECRETS_FILE has secrets in addition to those of the environment.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..aio.forge import AsyncJobForge
    from ..definition import JobHandler


def connector_handlers(forge: AsyncJobForge) -> list[JobHandler[Any, Any]]:
    """The handlers. Raises an InvalidArgumentError that names the variable that is wrong."""
    from ..connectors import EnvironmentSecrets, FileSecrets, FirstOf, connectors

    env = os.environ
    file = env.get("JOBFORGE_SECRETS_FILE")
    secrets = FirstOf(EnvironmentSecrets(env), FileSecrets(file)) if file else EnvironmentSecrets(env)
    try:
        return connectors(forge, egress=_egress(env), secrets=secrets)
    except (OSError, ValueError) as error:
        return refuse("JOBFORGE_EGRESS_POLICY", f"has no valid egress policy: {error}")


def _egress(env: Mapping[str, str]) -> dict[str, Any]:
    from ..connectors import LOOPBACK_EGRESS

    kind = env.get("JOBFORGE_EGRESS") or "public"
    if kind not in ("public", "loopback"):
        refuse("JOBFORGE_EGRESS", f"must be public or loopback, not {kind!r}")
    file = env.get("JOBFORGE_EGRESS_POLICY")
    policy: Any = json.loads(Path(file).read_text(encoding="utf-8")) if file else {}
    if not isinstance(policy, dict):
        raise ValueError("it must be an object")
    return {**(LOOPBACK_EGRESS if kind == "loopback" else {}), **policy}
