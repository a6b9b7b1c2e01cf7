"""Checks a database URL before it is used. No message contains any part of the URL, which has a password."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ..arguments import refuse

_ENCODE = (
    "Percent-encode the characters of the user name and password, for example with urllib.parse.quote(text, safe=''): "
    "@ is %40, # is %23, / is %2F, ? is %3F."
)
_SAMPLE = "Write postgresql://user:password@host:5432/database."


def check_database_url(text: str) -> str:
    """Returns the URL if it can be meant as one of a Postgres database. Keywords of libpq are accepted."""
    if text.strip() == "":
        refuse("database", "must be a URL", "Set DATABASE_URL.")
    found = re.match(r"([a-z][a-z0-9+.-]*)://", text, re.IGNORECASE)
    if found is None:
        if text.lower().startswith("jdbc:"):
            refuse("database", "must begin with postgresql://, not with jdbc:", 'Remove "jdbc:".')
        if "=" not in text:
            refuse("database", "must be a URL", _SAMPLE)
        return text
    scheme = found[1].lower()
    if scheme in ("http", "https"):
        hint = "To call a JobForge server over HTTP, pass url and token instead."
        refuse("database", f"must begin with postgresql://, not with {scheme}://", hint)
    if scheme.startswith(("postgresql+", "postgres+")):
        # SQLAlchemy's form, which names a driver.
        text = f"postgresql://{text.split('://', 1)[1]}"
    elif scheme not in ("postgres", "postgresql"):
        refuse("database", f"must begin with postgresql://, not with {scheme}://", _SAMPLE)
    if _is_misread(text):
        refuse("database", "is not a valid URL", _ENCODE)
    return text


def _is_misread(text: str) -> bool:
    """Whether a character of the password ends the host too early."""
    try:
        parts = urlsplit(text)
        # Postgres accepts several hosts, each with its port.
        if "," not in parts.netloc:
            _ = parts.port
    except ValueError:
        return True
    return "@" in parts.path or "@" in parts.fragment or bool(parts.fragment)
