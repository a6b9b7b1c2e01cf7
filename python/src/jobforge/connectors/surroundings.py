"""What the handlers share: secrets, configurations, artifacts and the operator's policy."""

from __future__ import annotations

from dataclasses import dataclass

from ..artifacts.forms import AsyncArtifactStore
from .configuration import Configurations
from .egress.policies import Policies
from .secrets.secrets import Secrets


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the handlers of one worker share."""

    secrets: Secrets
    configurations: Configurations
    artifacts: AsyncArtifactStore
    policies: Policies
