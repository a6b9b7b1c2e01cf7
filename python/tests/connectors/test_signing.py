"""Signatures: the vectors that every language has in common."""

from __future__ import annotations

import hmac
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobforge.connectors import derive_key, read_master_key, receiver_secret
from jobforge.connectors.verify import WebhookVerificationError, verify_legacy_webhook, verify_webhook
from jobforge.connectors.webhooks.signing import (
    SigningKey,
    decode,
    legacy_signature,
    read_signing_key,
    standard_signature,
)

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).resolve().parents[3] / "conformance" / "webhooks.json").read_text(encoding="utf-8")
)


def _name(vector: dict[str, Any]) -> str:
    return str(vector["name"])


def _key(secret: str) -> SigningKey:
    key = read_signing_key(secret)
    assert key is not None
    return key


def _headers(vector: dict[str, Any]) -> dict[str, str]:
    return {
        "Webhook-Id": vector["id"],
        "Webhook-Timestamp": str(vector["timestamp"]),
        "Webhook-Signature": vector["signature"],
    }


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@pytest.mark.parametrize("vector", VECTORS["standard"], ids=_name)
def test_a_vector_is_signed_and_verified(vector: dict[str, Any]) -> None:
    keys = [_key(secret) for secret in vector["secrets"]]
    body = vector["body"].encode()
    assert standard_signature(keys, vector["id"], vector["timestamp"], body) == vector["signature"]
    if body:
        for key in keys:
            secret = receiver_secret(key)
            verified = verify_webhook(body, _headers(vector), secret, now=_at(vector["timestamp"]))
            assert (verified.id, verified.event) == (vector["id"], json.loads(body))
    assert vector.get("receiver_secret", receiver_secret(keys[0])) == receiver_secret(keys[0])


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=_name)
def test_a_forgery_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(WebhookVerificationError) as refused:
        verify_webhook(vector["body"], _headers(vector), vector["secret"], now=_at(vector["now"]))
    assert refused.value.code == vector["code"]


@pytest.mark.parametrize("vector", VECTORS["legacy"], ids=_name)
def test_the_older_form_is_signed(vector: dict[str, Any]) -> None:
    assert legacy_signature(vector["algorithm"], vector["secret"], vector["body"].encode()) == vector["signature"]


@pytest.mark.parametrize("vector", VECTORS["timed"], ids=_name)
def test_the_form_of_others_is_the_same_hmac(vector: dict[str, Any]) -> None:
    signed = f"{vector['timestamp']}.{vector['body']}".encode()
    digest = hmac.new(vector["secret"].encode(), signed, "sha256").hexdigest()
    assert f"t={vector['timestamp']},v1={digest}" == vector["signature"]


@pytest.mark.parametrize("vector", VECTORS["legacy"][:2], ids=_name)
def test_the_older_form_is_verified_by_the_time_in_its_body(vector: dict[str, Any]) -> None:
    headers = {"X-JobForge-Signature": vector["signature"]}
    now = datetime.fromisoformat("2026-01-02T03:04:30Z")
    verified = verify_legacy_webhook(vector["body"], headers, ["other", vector["secret"]], now=now)
    assert verified.id == "6f1c7c1e-9d1b-4f52-8b86-2f7f6f1a1b01"
    for code, secret, at in (("too_old", vector["secret"], now.replace(hour=4)), ("no_match", "other", now)):
        with pytest.raises(WebhookVerificationError) as refused:
            verify_legacy_webhook(vector["body"], headers, secret, now=at)
        assert refused.value.code == code


@pytest.mark.parametrize("vector", VECTORS["derived"], ids=_name)
def test_the_key_of_an_endpoint_is_derived_from_the_master_key(vector: dict[str, Any]) -> None:
    key = derive_key(
        read_master_key(vector["master_key"]),
        tenant=vector["tenant_id"],
        endpoint_id=vector["endpoint_id"],
        version=vector["version"],
    )
    assert receiver_secret(key) == vector["secret"]
    signature = standard_signature([key], vector["id"], vector["timestamp"], vector["body"].encode())
    assert signature == vector["signature"]


def test_a_derived_key_of_ed25519_signs_what_its_public_key_verifies() -> None:
    ids = {"tenant": "t", "endpoint_id": "e", "version": 1}
    key = derive_key(bytes(32), kind="ed25519", **ids)  # type: ignore[arg-type]
    headers = {
        "webhook-id": "a",
        "webhook-timestamp": "100",
        "webhook-signature": standard_signature([key], "a", 100, b"{}"),
    }
    assert verify_webhook(b"{}", headers, receiver_secret(key), now=_at(100)).event == {}
    with pytest.raises(WebhookVerificationError, match="No signature matches"):
        verify_webhook(b"{ }", headers, receiver_secret(key), now=_at(100))


def test_a_request_without_headers_and_a_secret_of_another_form_are_refused() -> None:
    with pytest.raises(WebhookVerificationError, match="missing"):
        verify_webhook("{}", {}, "whsec_AAAA")
    headers = {"webhook-id": "a", "webhook-timestamp": "100", "webhook-signature": "v1,AAAA"}
    for secret in ("", "whsec_AAAA", "whsec_" + "A" * 100):
        with pytest.raises(WebhookVerificationError) as refused:
            verify_webhook("{}", headers, secret, now=_at(100))
        assert refused.value.code == "invalid_secret"
    with pytest.raises(WebhookVerificationError) as refused:
        verify_webhook("{}", headers, "whpk_" + "A" * 40, now=_at(100))
    assert refused.value.code == "invalid_secret"
    for body in (b"null", b"7", b'{"event_id": 7}'):
        signed = {"X-JobForge-Signature": legacy_signature("sha256", "plain", body)}
        with pytest.raises(WebhookVerificationError) as refused:
            verify_legacy_webhook(body, signed, "plain", now=_at(100))
        assert refused.value.code == "invalid_body"
    with pytest.raises(ValueError, match="32 bytes"):
        read_master_key("AAAA")
    assert decode("A!") is None
