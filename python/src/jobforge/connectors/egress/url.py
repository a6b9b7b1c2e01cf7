"""Reads URLs of http and https as browsers do, so that one text means the same target in every language.

The parsers of the standard library accept texts that other parsers read in another way, such as backslashes and
addresses with few parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from .addresses import address_of
from .names import ends_in_number, ipv4_of, to_ascii

_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65_535
_IN_PATH: Final = "!$&'()*+,-./:;=@[\\]_|~%"
_IN_QUERY: Final = "!$&()*+,-./:;=?@[\\]^_`{|}~%"
_IN_FRAGMENT: Final = "!#$%&'()*+,-./:;=?@[\\]^_{|}~"
_DOT: Final = re.compile(r"\.|%2[eE]")
_DOTS: Final = re.compile(r"(?:\.|%2[eE]){2}")


@dataclass(frozen=True, slots=True)
class Url:
    """A URL. Of other schemes than http and https, only the scheme is known."""

    scheme: str
    host: str = ""
    """In ASCII, without brackets."""
    given_port: int | None = None
    """The port, if it is not that of the scheme."""
    path: str = "/"
    query: str | None = None
    fragment: str | None = None
    has_user: bool = False

    @property
    def port(self) -> int:
        return self.given_port or _DEFAULT_PORTS.get(self.scheme, 0)

    @property
    def authority(self) -> str:
        """The host, in brackets if needed, and the port if it is not that of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.given_port is None else f"{host}:{self.given_port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def target(self) -> str:
        """What the request line names."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def href(self) -> str:
        """The whole URL."""
        fragment = "" if self.fragment is None else f"#{self.fragment}"
        return f"{self.origin}{self.target}{fragment}"

    def with_query(self, more: str) -> Url:
        """The URL with more parameters."""
        if more == "":
            return self
        return replace(self, query=f"{self.query}&{more}" if self.query else more)


def parse_url(text: str, base: Url | None = None) -> Url | None:
    """Reads a URL, which may be relative to `base`. Returns None if it is invalid."""
    text = text.strip(" ")
    found = _SCHEME.match(text)
    if found is None:
        return None if base is None else _relative(text, base)
    scheme, rest = found[1].lower(), text[found.end() :]
    if scheme not in _DEFAULT_PORTS:
        return Url(scheme)
    if base is not None and base.scheme == scheme and not re.match(r"[/\\]{2}", rest):
        return _relative(rest, base)
    return _absolute(scheme, rest.lstrip("/\\"))


def _absolute(scheme: str, rest: str) -> Url | None:
    end = re.search(r"[/\\?#]", rest)
    authority, tail = (rest, "") if end is None else (rest[: end.start()], rest[end.start() :])
    user, at, place = authority.rpartition("@")
    found = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d*))?", place)
    host = None if found is None else _host(found[1])
    if found is None or host is None:
        return None
    port = int(found[2]) if found[2] else None
    if port is not None and port > _MAX_PORT:
        return None
    url = Url(
        scheme, host, None if port == _DEFAULT_PORTS[scheme] else port, has_user=at != "" and user not in ("", ":")
    )
    return _with_tail(url, tail)


def _relative(text: str, base: Url) -> Url | None:
    if re.match(r"[/\\]{2}", text):
        return _absolute(base.scheme, text.lstrip("/\\"))
    clean = replace(base, query=None, fragment=None)
    if text[:1] in ("/", "\\"):
        return _with_tail(clean, text)
    if text[:1] in ("?", "#") or text == "":
        tail = text if text[:1] == "?" or base.query is None else f"?{base.query}{text}"
        return _with_tail(clean, base.path + tail)
    folder = base.path.rpartition("/")[0]
    return _with_tail(clean, f"{folder}/{text}")


def _with_tail(url: Url, tail: str) -> Url:
    before, hash_sign, fragment = tail.partition("#")
    path, mark, query = before.partition("?")
    return replace(
        url,
        path=_path(path),
        query=quote(query, safe=_IN_QUERY) if mark else None,
        fragment=quote(fragment, safe=_IN_FRAGMENT) if hash_sign else None,
    )


def _path(text: str) -> str:
    kept: list[str] = []
    segments = text.replace("\\", "/").removeprefix("/").split("/")
    for index, segment in enumerate(segments):
        is_last = index == len(segments) - 1
        if _DOTS.fullmatch(segment):
            if kept:
                kept.pop()
            if is_last:
                kept.append("")
        elif _DOT.fullmatch(segment):
            if is_last:
                kept.append("")
        else:
            kept.append(quote(segment, safe=_IN_PATH))
    return f"/{'/'.join(kept)}"


def _host(text: str) -> str | None:
    if text.startswith("["):
        address = address_of(text[1:-1])
        return str(address) if address is not None and ":" in text else None
    try:
        name = to_ascii(unquote_to_bytes(text).decode("utf-8"))
    except UnicodeDecodeError:
        return None
    if name is None:
        return None
    return ipv4_of(name) if ends_in_number(name) else name
