"""Connections that are refused: the error says what to do, and that waiting does not help."""

from __future__ import annotations

import pytest

from jobforge.error_mapping import SqlError, from_driver_error, from_sql_error


@pytest.mark.parametrize(
    ("message", "code", "hint"),
    [
        ("fe_sendauth: no password supplied", "28P01", "PGPASSWORD"),
        ('FATAL:  password authentication failed for user "u"', "28P01", "Percent-encode"),
        ('FATAL:  database "d" does not exist', "3D000", "create the database"),
        (
            'FATAL:  no pg_hba.conf entry for host "h", user "u", database "d", no encryption',
            "28000",
            "?sslmode=require",
        ),
        (
            'FATAL:  no pg_hba.conf entry for host "h", user "u", database "d", SSL encryption',
            "28000",
            "pg_hba.conf has",
        ),
        ("FATAL:  no PostgreSQL user name specified in startup packet", "28000", "Write the user name"),
        ("server does not support SSL, but SSL was required", "08000", "Remove sslmode"),
        ('PostgreSQL server at "h:5432" rejected SSL upgrade', "08000", "Remove sslmode"),
        ("SSL error: certificate verify failed", "08000", "sslrootcert=FILE"),
        ('root certificate file "/root.crt" does not exist', "08000", "sslrootcert=FILE"),
        ('server certificate for "a" does not match host name "b"', "08000", "Use the host name"),
        ("certificate verify failed: certificate has expired", "08000", "this machine's clock"),
    ],
)
def test_what_to_do_about_a_refused_connection(message: str, code: str, hint: str) -> None:
    error = from_driver_error(OSError(message))
    assert (error.code, error.retryable) == (code, False)
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ('connection to server at "127.0.0.1", port 1 failed: Connection refused', "Postgres is running"),
        ("Multiple exceptions: [Errno 111] Connect call failed ('127.0.0.1', 1)", "Postgres is running"),
        ("failed to resolve host 'db.invalid': [Errno -2] Name or service not known", "Percent-encode"),
        ("server closed the connection unexpectedly", None),
    ],
)
def test_a_server_that_was_not_reached_may_be_reached_later(message: str, hint: str | None) -> None:
    error = from_driver_error(OSError(message))
    assert (error.code, error.retryable) == ("08000", True)
    assert error.hint is None if hint is None else hint in (error.hint or "")


def test_the_hint_of_a_refusal_with_a_code() -> None:
    error = from_sql_error(SqlError("28000", "no PostgreSQL user name specified in startup packet"))
    assert (error.code, error.retryable) == ("28000", False)
    assert "Write the user name" in (error.hint or "")


def test_a_failed_transaction_has_a_hint() -> None:
    error = from_sql_error(SqlError("25P02", "current transaction is aborted"))
    assert "Roll the transaction back" in (error.hint or "")
