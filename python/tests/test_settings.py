"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from jobforge import InvalidArgumentError, JobForge, Settings
from jobforge.artifacts import FileStore
from jobforge.pydantic import JobForgeSettings

DATABASE = "postgresql://user:secret@host/database"


def test_a_database_or_a_server() -> None:
    assert Settings.from_env({"DATABASE_URL": DATABASE}).arguments() == {"database": DATABASE}
    own = {"DATABASE_URL": "other", "JOBFORGE_DATABASE_URL": DATABASE, "JOBFORGE_TIMEOUT": "2.5"}
    assert Settings.from_env(own).arguments() == {"database": DATABASE, "timeout": 2.5}
    server = {"DATABASE_URL": "other", "JOBFORGE_URL": "http://h", "JOBFORGE_TOKEN": "t", "PATH": "/bin"}
    assert Settings.from_env(server).arguments() == {"url": "http://h", "token": "t"}
    with JobForge.from_env({"DATABASE_URL": DATABASE, "JOBFORGE_MAX_CONNECTIONS": "3"}) as forge:
        assert forge.transport.max_connections == 3


@pytest.mark.parametrize(
    ("environment", "variable", "says"),
    [
        ({}, "DATABASE_URL", "JOBFORGE_URL"),
        ({"JOBFORGE_URL": "http://h"}, "JOBFORGE_TOKEN", "needs it"),
        ({"JOBFORGE_URL": "http://h", "JOBFORGE_DATABASE_URL": DATABASE}, "JOBFORGE_URL", "one of them"),
        ({"JOBFORGE_DATABSE_URL": DATABASE}, "JOBFORGE_DATABSE_URL", "JOBFORGE_DATABASE_URL"),
        ({"DATABASE_URL": DATABASE, "JOBFORGE_TIMEOUT": "soon"}, "JOBFORGE_TIMEOUT", "seconds"),
        ({"DATABASE_URL": DATABASE, "JOBFORGE_POOL_MODE": "x"}, "JOBFORGE_POOL_MODE", "session or transaction"),
        ({"DATABASE_URL": DATABASE, "JOBFORGE_MAX_CONNECTIONS": ""}, "JOBFORGE_MAX_CONNECTIONS", "whole number"),
    ],
)
def test_mistakes_name_the_variable(environment: dict[str, str], variable: str, says: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        Settings.from_env(environment)
    assert refused.value.field == variable
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)


def test_variables_of_other_parts_are_left_alone() -> None:
    others = ("JWT_SECRET", "WEBHOOK_MASTER_KEY", "WEBHOOK_MASTER_KEY_2027", "SECRET_STRIPE", "EGRESS", "APP_VERSION")
    environment = {"DATABASE_URL": DATABASE, **{f"JOBFORGE_{name}": "x" for name in others}}
    assert Settings.from_env(environment).arguments() == {"database": DATABASE}
    schema = Settings.from_env({"DATABASE_URL": DATABASE, "JOBFORGE_API_SCHEMA": "jobs"})
    assert schema.arguments()["schema"] == "jobs"


def test_the_artifact_store_is_named_by_its_address(tmp_path: Path) -> None:
    environment = {"DATABASE_URL": DATABASE, "JOBFORGE_ARTIFACTS": f"file:{tmp_path}"}
    with JobForge.from_env(environment) as forge:
        assert isinstance(forge.artifacts.store, FileStore)
    with pytest.raises(InvalidArgumentError) as refused:
        Settings.from_env({**environment, "JOBFORGE_ARTIFACTS": "http://x"})
    assert refused.value.field == "JOBFORGE_ARTIFACTS"


def test_pydantic_settings_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBFORGE_DATABASE_URL", DATABASE)
    monkeypatch.setenv("JOBFORGE_TIMEOUT", "2.5")
    settings = JobForgeSettings()
    assert settings.arguments() == {"database": DATABASE, "timeout": 2.5}
    assert "secret" not in repr(settings)
    with JobForge(**settings.arguments()) as forge:
        assert forge.transport.can_listen
    monkeypatch.setenv("JOBFORGE_TIMEOUT", "soon")
    with pytest.raises(ValidationError):
        JobForgeSettings()
    monkeypatch.setenv("JOBFORGE_TIMEOUT", "1")
    with pytest.raises(ValidationError):
        JobForgeSettings(unknown=1)  # type: ignore[call-arg]
