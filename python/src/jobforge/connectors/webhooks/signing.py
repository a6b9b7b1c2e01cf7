"""Signatures of webhooks.

Standard Webhooks: `v1` is an HMAC-SHA256 and `v1a` an ed25519 signature of the id, the time and the exact bytes of the
body. The older form signs the body alone.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from . import ed25519

_SECRET: Final = re.compile(r"(whsec|whsk)_([A-Za-z0-9+/]+={0,2})")
_KEY_BYTES: Final = range(24, 65)
_SEED_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key for signatures of Standard Webhooks."""

    kind: Literal["hmac", "ed25519"]
    content: bytes
    """The key of the HMAC, or the seed of ed25519."""

    def __repr__(self) -> str:
        return f"<SigningKey {self.kind}>"


def decode(text: str) -> bytes | None:
    """The bytes of a text in base64, with or without its padding."""
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)
    except ValueError:
        return None


def read_signing_key(secret: str) -> SigningKey | None:
    """Reads a secret in the form `whsec_…` or `whsk_…`. Returns None if it has another form."""
    found = _SECRET.fullmatch(secret)
    content = decode(found[2]) if found is not None else None
    if found is None or content is None:
        return None
    if found[1] == "whsk":
        # A private key has 32 bytes, which the public key may follow.
        is_usable = len(content) in (_SEED_BYTES, 2 * _SEED_BYTES)
        return SigningKey("ed25519", content[:_SEED_BYTES]) if is_usable else None
    return SigningKey("hmac", content) if len(content) in _KEY_BYTES else None


def standard_signature(keys: Sequence[SigningKey], id: str, timestamp: int, body: bytes) -> str:
    """One signature for each key, in order: `v1,… v1,…`. Receivers accept any of them: the newest key comes first."""
    signed = f"{id}.{timestamp}.".encode() + body
    return " ".join(_signature(key, signed) for key in keys)


def _signature(key: SigningKey, signed: bytes) -> str:
    if key.kind == "hmac":
        return f"v1,{base64.b64encode(hmac.digest(key.content, signed, 'sha256')).decode()}"
    return f"v1a,{base64.b64encode(ed25519.sign(key.content, signed)).decode()}"


def legacy_signature(algorithm: Literal["sha256", "sha512"], secret: str, body: bytes) -> str:
    """The older signature: the hexadecimal HMAC of the body, under the text of the secret."""
    return f"{algorithm}={hmac.new(secret.encode(), body, algorithm).hexdigest()}"


def derive_key(
    master_key: bytes, *, tenant: str, endpoint_id: str, version: int, kind: Literal["hmac", "ed25519"] = "hmac"
) -> SigningKey:
    """Derives the key of an endpoint from a master key, so that no secret is stored in the database.

    A rotation is a higher version.
    """
    info = f"jobforge/webhook/{kind}/{tenant}/{endpoint_id}/{version}"
    return SigningKey(kind, _hkdf(master_key, info.encode()))


def _hkdf(key: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 (RFC 5869) with an empty salt: one block, 32 bytes."""
    extracted = hmac.digest(bytes(hashlib.sha256().digest_size), key, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def receiver_secret(key: SigningKey) -> str:
    """What the receiver verifies with: `whsec_…`, or the public key `whpk_…`."""
    if key.kind == "hmac":
        return f"whsec_{base64.b64encode(key.content).decode()}"
    return f"whpk_{base64.b64encode(ed25519.public_key(key.content)).decode()}"
