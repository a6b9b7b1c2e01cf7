"""Connections that are refused however often they are tried: what the server, the driver or TLS says, and the fix."""

from __future__ import annotations

import re
from typing import Final

from .errors import ConnectionError

REFUSED_CODES: Final = frozenset({"28000", "28P01", "3D000"})
"""The server refuses this login or database."""

_URL_FORM: Final = "as in postgres://user:password@host/database"
_NO_TLS: Final = re.compile(r"does not support SSL|rejected SSL upgrade")
# In this order: the first pattern that matches counts. libpq has no SQLSTATE for a refused connection, only a message.
_REFUSALS: Final = (
    (
        re.compile(r"no password supplied"),
        "28P01",
        f"Write it into the database URL, {_URL_FORM}, or set PGPASSWORD.",
    ),
    (
        re.compile(r"password authentication failed"),
        "28P01",
        "Check the user name and password in the database URL. Percent-encode special characters in them.",
    ),
    (
        re.compile(r'database ".*" does not exist'),
        "3D000",
        "Check the name of the database at the end of the database URL, or create the database.",
    ),
    (
        re.compile(r"no PostgreSQL user name"),
        "28000",
        f"Write the user name into the database URL, {_URL_FORM}.",
    ),
    (
        re.compile(r"no pg_hba\.conf entry .*(no encryption|SSL off)"),
        "28000",
        "If the server requires TLS, add ?sslmode=require to the database URL.",
    ),
    (
        re.compile(r"no pg_hba\.conf entry"),
        "28000",
        "The server's pg_hba.conf has no entry for this user, database and address. Check all three, or add an entry.",
    ),
    (re.compile(r'role ".*" does not exist'), "28000", None),
    (_NO_TLS, "08000", "Remove sslmode from the database URL, or enable TLS in the server."),
    (
        re.compile(r"certificate has expired|certificate is not yet valid"),
        "08000",
        "Renew the server's certificate, or correct this machine's clock.",
    ),
    (
        re.compile(r"certificate for .* does not match host name|Hostname mismatch"),
        "08000",
        "Use the host name of the server's certificate in the database URL.",
    ),
    (
        re.compile(r"certificate verify failed|root certificate file"),
        "08000",
        (
            "Name a file with the server's certificate authority: "
            "?sslmode=verify-full&sslrootcert=FILE in the database URL."
        ),
    ),
)


_UNREACHABLE: Final = (
    (
        re.compile(r"Connection refused|Connect call failed"),
        "Check that Postgres is running, and the host and port in the database URL.",
    ),
    (
        re.compile(r"could not translate host name|failed to resolve host|Name or service not known|nodename nor"),
        "Check the host in the database URL. Percent-encode special characters in the password: @ is %40, / is %2F.",
    ),
)


def unreachable_hint(message: str) -> str | None:
    """What to do about a server that was not reached; it may be reached later."""
    return next((hint for pattern, hint in _UNREACHABLE if pattern.search(message)), None)


def refusal_hint(message: str) -> str | None:
    """What to do about a connection that was refused with this message."""
    return next((hint for pattern, _, hint in _REFUSALS if pattern.search(message)), None)


def refused_connection(message: str) -> ConnectionError | None:
    """The error for a connection that was refused; None if another reason ended it."""
    for pattern, code, hint in _REFUSALS:
        if pattern.search(message):
            return ConnectionError(message, code=code, retryable=False, hint=hint)
    return None
