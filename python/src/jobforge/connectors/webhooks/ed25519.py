"""Signatures of ed25519 (RFC 8032), which the standard library does not have.

Python's integers take a time that depends on their values. So a signature made here may tell an observer of its timing
something about the key: sign with HMAC, the default, if others share the processor. Verifying uses no secret.
"""

from __future__ import annotations

import hashlib
from typing import Final, TypeAlias

Point: TypeAlias = tuple[int, int, int, int]
"""Extended coordinates: x/z, y/z, and x*y/z."""

_P: Final = 2**255 - 19
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ROOT: Final = pow(2, (_P - 1) // 4, _P)
_SIZE: Final = 32
_ZERO: Final[Point] = (0, 1, 1, 0)


def _add(first: Point, second: Point) -> Point:
    a = (first[1] - first[0]) * (second[1] - second[0]) % _P
    b = (first[1] + first[0]) * (second[1] + second[0]) % _P
    c = 2 * first[3] * second[3] * _D % _P
    d = 2 * first[2] * second[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(number: int, point: Point) -> Point:
    result = _ZERO
    while number > 0:
        if number & 1:
            result = _add(result, point)
        point = _add(point, point)
        number >>= 1
    return result


def _is_same(first: Point, second: Point) -> bool:
    x = (first[0] * second[2] - second[0] * first[2]) % _P
    y = (first[1] * second[2] - second[1] * first[2]) % _P
    return x == 0 and y == 0


def _x_of(y: int, sign: int) -> int | None:
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if square == 0:
        return None if sign else 0
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P != 0:
        x = x * _ROOT % _P
    if (x * x - square) % _P != 0:
        return None
    return _P - x if x & 1 != sign else x


_BASE_Y: Final = 4 * pow(5, -1, _P) % _P
_BASE_X: Final = _x_of(_BASE_Y, 0) or 0
_BASE: Final[Point] = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)


def _pack(point: Point) -> bytes:
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | ((x & 1) << 255)).to_bytes(_SIZE, "little")


def _unpack(packed: bytes) -> Point | None:
    number = int.from_bytes(packed, "little")
    y = number & (2**255 - 1)
    x = _x_of(y, number >> 255) if len(packed) == _SIZE else None
    return None if x is None else (x, y, 1, x * y % _P)


def _number(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % _ORDER


def _expand(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:_SIZE], "little") & ((1 << 254) - 8) | (1 << 254)
    return scalar, digest[_SIZE:]


def public_key(seed: bytes) -> bytes:
    """The public key of a private key, which is 32 bytes."""
    return _pack(_multiply(_expand(seed)[0], _BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of a message."""
    scalar, prefix = _expand(seed)
    nonce = _number(prefix, message)
    point = _pack(_multiply(nonce, _BASE))
    challenge = _number(point, public_key(seed), message)
    return point + ((nonce + challenge * scalar) % _ORDER).to_bytes(_SIZE, "little")


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature is that of the message."""
    key, point = _unpack(public), _unpack(signature[:_SIZE])
    number = int.from_bytes(signature[_SIZE:], "little")
    if key is None or point is None or len(signature) != 2 * _SIZE or number >= _ORDER:
        return False
    challenge = _number(signature[:_SIZE], public, message)
    return _is_same(_multiply(number, _BASE), _add(point, _multiply(challenge, key)))
