"""The table of addresses, names and hosts. Its cases are data, so that every language is tested with the same ones."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from jobforge.connectors import ConnectorError
from jobforge.connectors.egress.check_url import UrlRules, check_url
from jobforge.connectors.egress.headers import check_header, check_headers, is_refused_header
from jobforge.connectors.egress.hosts import matches_any, read_pattern
from jobforge.connectors.egress.policy import egress_policy
from jobforge.connectors.egress.url import parse_url
from jobforge.errors import InvalidValueError

CASES: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[3] / "conformance" / "egress.json").read_text(encoding="utf-8")
)["cases"]


def _id(case: Any) -> str:
    return json.dumps(case)[:80]


@pytest.mark.parametrize("case", CASES["addresses"], ids=_id)
def test_an_address_is_judged(case: dict[str, Any]) -> None:
    assert egress_policy(case.get("policy")).addresses.allow(case["address"]) is case["allowed"]


@pytest.mark.parametrize("case", CASES["urls"], ids=_id)
def test_a_url_is_judged_by_its_text(case: dict[str, Any]) -> None:
    code = None
    try:
        check_url(case["url"], UrlRules(egress_policy()))
    except ConnectorError as error:
        code = error.code
    assert code == case["code"]


@pytest.mark.parametrize("case", CASES["hosts"], ids=_id)
def test_a_pattern_names_hosts(case: dict[str, Any]) -> None:
    assert matches_any([case["pattern"]], case["host"], case.get("port", 443)) is case["matches"]


@pytest.mark.parametrize("pattern", CASES["refused_patterns"], ids=_id)
def test_a_pattern_is_refused(pattern: str) -> None:
    assert read_pattern(pattern) is None


def test_what_is_not_an_address_is_not_allowed() -> None:
    for text in (None, "", "localhost", "fe80::1%lo", "1.2.3", "::ffff:1.2.3.4"):
        assert egress_policy().addresses.allow(text) is False


def test_this_machine_is_not_reached_under_its_own_addresses() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("93.184.216.34", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        own = probe.getsockname()[0]
    assert egress_policy({"allow_cidrs": ["0.0.0.0/0"]}).addresses.allow(own) is False
    assert egress_policy({"allow_cidrs": [f"{own}/32"]}).addresses.allow(own) is True


def test_headers_that_jobforge_sets_or_that_open_metadata_services_are_refused() -> None:
    for name in ("Host", "CONTENT-LENGTH", "Proxy-Authorization", "X-Forwarded-For", "Metadata-Flavor"):
        assert is_refused_header(name)
    for name in ("accept", "x-api-key", "authorization", "cookie", "x-request-id"):
        assert not is_refused_header(name)


@pytest.mark.parametrize(
    "text", ["s3cret\r\nx-b: 1", "s3cret\n", "s3cret\0", "s3crét", "s3cret€", "s3cret\x7f"], ids=_id
)
def test_a_header_has_a_value_of_visible_ascii_which_is_never_in_the_error(text: str) -> None:
    check_header("x-a", "a b\tc~")
    with pytest.raises(ConnectorError, match="must be visible ASCII") as refused:
        check_header("x-a", text)
    assert "s3cr" not in str(refused.value)
    with pytest.raises(ConnectorError, match="The value of the header x-jobforge-event must be visible ASCII"):
        check_headers({"x-jobforge-event": text})


def test_a_request_has_a_limit_of_headers() -> None:
    check_headers({f"x-{n}": "a" * 200 for n in range(64)})
    for count, length in ((65, 1), (8, 2048)):
        with pytest.raises(ConnectorError, match="at most 64 headers and 16384 bytes"):
            check_headers({f"x-{n}": "a" * length for n in range(count)})


@pytest.mark.parametrize("document", CASES["policies"], ids=_id)
def test_a_policy_is_understood(document: dict[str, Any]) -> None:
    assert set(document) <= set(egress_policy(document).settings)


@pytest.mark.parametrize("document", CASES["refused_policies"], ids=_id)
def test_a_policy_with_a_mistake_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match="egress"):
        egress_policy(document)


@pytest.mark.parametrize(
    ("text", "base", "href"),
    [
        ("HTTPS://API.Example.com:443/a/../b/./c?d=1 2#e", None, "https://api.example.com/b/c?d=1%202#e"),
        ("http:\\\\good.example\\@evil.example/", None, "http://good.example/@evil.example/"),
        ("http://a.example", None, "http://a.example/"),
        ("http://a.example:80", None, "http://a.example/"),
        ("http://a.example//b/%2e%2E/ü", None, "http://a.example//%C3%BC"),
        ("http://[2606:4700:4700:0::1111]/", None, "http://[2606:4700:4700::1111]/"),
        ("http://faß.example/", None, "http://xn--fa-hia.example/"),
        ("c?d", "http://a.example/x/y?z", "http://a.example/x/c?d"),
        ("?d", "http://a.example/x/y?z", "http://a.example/x/y?d"),
        ("#d", "http://a.example/x/y?z", "http://a.example/x/y?z#d"),
        ("/c", "http://a.example/x/y?z", "http://a.example/c"),
        ("../c", "http://a.example/x/y/z", "http://a.example/x/c"),
        ("//b.example/c", "https://a.example/", "https://b.example/c"),
        ("\\\\b.example\\c", "https://a.example/", "https://b.example/c"),
        ("http://256.1.1.1/", None, None),
        ("http://1.2.3.4.5/", None, None),
        ("http://a b.example/", None, None),
        ("http://a.example:99999/", None, None),
        ("http://a%00.example/", None, None),
        ("http://[::1", None, None),
    ],
)
def test_a_url_is_read_as_browsers_read_it(text: str, base: str | None, href: str | None) -> None:
    url = parse_url(text, parse_url(base) if base is not None else None)
    assert (None if url is None else url.href) == href
