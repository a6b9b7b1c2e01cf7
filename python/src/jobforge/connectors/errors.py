"""Why a connector failed, and whether the same job may succeed later."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

FinalCode: TypeAlias = Literal[
    "blocked_address",
    "blocked_host",
    "blocked_port",
    "blocked_scheme",
    "invalid_url",
    "invalid_header",
    "invalid_payload",
    "redirect_refused",
    "too_large",
    "endpoint_unknown",
    "artifact_unavailable",
]
RetriedCode: TypeAlias = Literal[
    "http_status",
    "dns_failed",
    "connect_failed",
    "connection_lost",
    "tls_failed",
    "timeout",
    "invalid_response",
    "secret_unavailable",
    "config_unavailable",
    "proxy_unavailable",
]
ConnectorErrorCode: TypeAlias = FinalCode | RetriedCode

FINAL_CODES: Final[frozenset[str]] = frozenset(get_args(FinalCode))


class ConnectorError(Exception):
    """A connector failed. `details` are stored as `error.details` of the run: no secret and no address is in them.

    They have the `code`, and where they apply the `status` of the response, the seconds to wait that it asked for
    (`retry_after`), its `bytes`, its beginning (`preview`), and whether the request may have reached the server
    (`sent`).
    """

    def __init__(
        self,
        code: ConnectorErrorCode,
        message: str,
        details: dict[str, Any] | None = None,
        *,
        is_final: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.code: ConnectorErrorCode = code
        self.details: dict[str, Any] = {
            "code": code,
            **{name: value for name, value in (details or {}).items() if value is not None},
        }
        self.is_final = code in FINAL_CODES if is_final is None else is_final
        """Whether no retry of the job can help, if the payload does not say otherwise."""


class BlockedError(ConnectorError):
    """The address, name, port or scheme of a target is not allowed. The text never contains a resolved address."""
