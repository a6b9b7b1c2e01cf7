"""Settings as a Pydantic model, for applications that keep all settings in one. Needs `jobforge[pydantic]`."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from .artifacts.open_store import open_store


class JobForgeSettings(BaseSettings):
    """How to reach JobForge. The variables are those of `jobforge.Settings`: JOBFORGE_ and the name in upper case."""

    model_config = SettingsConfigDict(env_prefix="JOBFORGE_", extra="forbid", env_ignore_empty=True)

    database_url: SecretStr | None = None
    url: str | None = None
    token: SecretStr | None = None
    api_key: SecretStr | None = None
    schema_name: str | None = Field(default=None, validation_alias="JOBFORGE_SCHEMA")
    timeout: PositiveFloat | None = None
    pool_mode: Literal["session", "transaction"] | None = None
    max_connections: PositiveInt | None = None
    artifacts: str | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.database_url is None) == (self.url is None):
            raise ValueError("Set JOBFORGE_DATABASE_URL, or JOBFORGE_URL and JOBFORGE_TOKEN, and not both")
        if self.url is not None and self.token is None:
            raise ValueError("JOBFORGE_URL needs JOBFORGE_TOKEN")
        return self

    def arguments(self) -> dict[str, Any]:
        """The arguments of `JobForge` and `AsyncJobForge`."""
        given: dict[str, Any] = {
            "database": _shown(self.database_url),
            "url": self.url,
            "token": _shown(self.token),
            "api_key": _shown(self.api_key),
            "schema": self.schema_name,
            "timeout": self.timeout,
            "pool_mode": self.pool_mode,
            "max_connections": self.max_connections,
            "artifacts": None if self.artifacts is None else open_store(self.artifacts),
        }
        return {name: value for name, value in given.items() if value is not None}


def _shown(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
