"""The HTTP transport: tokens, and what servers and proxies respond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jobforge import (
    AsyncJobForge,
    ConnectionError,
    ForbiddenError,
    InvalidArgumentError,
    JobForge,
    JobForgeError,
    NotInstalledError,
    PayloadTooLargeError,
    TimeoutError,
    define_job,
)

from .support.answers import Answers, serving

if TYPE_CHECKING:
    from .conftest import Ways
    from .support.backend import Backend

mail = define_job("mail.send")


def test_a_request_has_the_form_of_postgrest() -> None:
    answers = Answers()
    with (
        serving(answers) as url,
        JobForge(url=f"{url}/rest/v1/", token="t", api_key="k", schema="jobs", headers={"x-a": "b"}) as forge,
    ):
        assert forge.transport.call("jobforge_get_policy", {"p_type": "a"}) is None
    path, headers, body = answers.requests[0]
    assert path == "/rest/v1/rpc/jobforge_get_policy"
    assert body == {"p_type": "a"}
    expected = {"authorization": "Bearer t", "apikey": "k", "content-profile": "jobs", "x-a": "b"}
    assert headers.items() >= expected.items()


def test_a_token_is_asked_for_once_more_after_a_refusal(backend: Backend, ways: Ways) -> None:
    tokens = iter([backend.token("jobforge_operator", lasts=-60), backend.token("jobforge_operator")])
    with JobForge(url=ways.server(), token=lambda: next(tokens)) as forge:
        assert forge.gates.list() == []
    with (
        JobForge(url=ways.server(), token=backend.token("jobforge_operator", lasts=-60)) as stale,
        pytest.raises(ForbiddenError),
    ):
        stale.gates.list()


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (503, "<html>down</html>", ConnectionError, True),
        (429, {"message": "slow down"}, ConnectionError, True),
        (404, {"code": "PGRST202", "message": "no function"}, NotInstalledError, False),
        (413, "", PayloadTooLargeError, False),
        (401, "", ForbiddenError, False),
        (418, "", ConnectionError, False),
        (
            400,
            {"code": "JF002", "message": "m", "details": '{"name":"x","field":"tenant_id"}'},
            InvalidArgumentError,
            False,
        ),
    ],
)
def test_responses_that_are_errors(status: int, body: Any, kind: type[JobForgeError], retryable: bool) -> None:
    answers = Answers()
    answers.status, answers.body = status, body
    with serving(answers) as url, JobForge(url=url, token="t") as forge, pytest.raises(kind) as failed:
        forge.transport.call("jobforge_health", {})
    assert failed.value.retryable is retryable
    if kind is InvalidArgumentError:
        assert failed.value.field == "tenant"


async def test_a_silent_server_is_given_up() -> None:
    answers = Answers()
    answers.delay = 5
    with serving(answers) as url:
        with JobForge(url=url, token="t", timeout=0.2) as forge, pytest.raises(TimeoutError):
            forge.transport.call("jobforge_health", {})
        async with AsyncJobForge(url=url, token="t", timeout=0.2) as async_forge:
            with pytest.raises(TimeoutError):
                await async_forge.transport.call("jobforge_health", {})


async def test_nobody_is_there() -> None:
    async with AsyncJobForge(url="http://127.0.0.1:1", token="t") as forge:
        with pytest.raises(ConnectionError) as failed:
            await forge.transport.call("jobforge_health", {})
    assert failed.value.retryable
    with pytest.raises(InvalidArgumentError):
        forge.transport.transaction()


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers()
    with serving(answers) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", "")
        with JobForge(url="http://jobforge.invalid:8080", token="t") as forge:
            forge.transport.call("jobforge_health", {})
    assert answers.requests[0][0] == "http://jobforge.invalid:8080/rest/v1/rpc/jobforge_health"


def test_an_error_of_the_kernel_is_the_same_over_both(backend: Backend, ways: Ways, tenant: str) -> None:
    found = []
    for way in ("postgres", "http"):
        with JobForge(**ways.arguments("postgres" if way == "postgres" else "http", "jobforge_operator")) as forge:
            with pytest.raises(JobForgeError) as refused:
                forge.schedules.ensure(mail, "a", tenant=tenant, every="2 parsecs")
            error = refused.value
            found.append((type(error), error.code, error.kind, error.field, error.hint, error.message))
    assert found[0] == found[1]
