"""Handlers that call other systems: HTTP requests, signed webhooks and reports. Standard library only.

Where to find things:

- handlers.py: the handlers for a worker; configuration.py: what a tenant may set; retries.py: what is retried
- egress/: what may be reached, and requests that are checked on the way
- secrets/: references to secrets; artifacts.py: large contents outside of the database
- http/, webhooks/, reports/: one folder for each connector
- verify.py: for receivers of webhooks
"""

from __future__ import annotations

from ..artifacts import ArtifactStore, FileStore, ListedArtifact, S3Store, StoredArtifact, open_store
from .egress.policies import EgressDocument, EgressSource
from .egress.policy import LOOPBACK_EGRESS
from .errors import BlockedError, ConnectorError, ConnectorErrorCode
from .handlers import connectors
from .http.definition import HttpRequest, HttpResult, http_request
from .reports.define_report import Chart, Column, ReportContext, ReportDefinition, ReportRow, define_report
from .reports.definition import ReportRequest, ReportResult, report_generate
from .secrets.provider import EnvironmentSecrets, FileSecrets, FirstOf, SecretProvider, SecretReference
from .webhooks.definition import WEBHOOK_RETRY, WebhookDelivery, WebhookResult, webhook_deliver
from .webhooks.endpoints import DeliveryEndpoint, EndpointFinder, WebhookOptions, master_keys_of, read_master_key
from .webhooks.signing import SigningKey, derive_key, receiver_secret

__all__ = [
    "LOOPBACK_EGRESS",
    "WEBHOOK_RETRY",
    "ArtifactStore",
    "BlockedError",
    "Chart",
    "Column",
    "ConnectorError",
    "ConnectorErrorCode",
    "DeliveryEndpoint",
    "EgressDocument",
    "EgressSource",
    "EndpointFinder",
    "EnvironmentSecrets",
    "FileSecrets",
    "FileStore",
    "FirstOf",
    "HttpRequest",
    "HttpResult",
    "ListedArtifact",
    "ReportContext",
    "ReportDefinition",
    "ReportRequest",
    "ReportResult",
    "ReportRow",
    "S3Store",
    "SecretProvider",
    "SecretReference",
    "SigningKey",
    "StoredArtifact",
    "WebhookDelivery",
    "WebhookOptions",
    "WebhookResult",
    "connectors",
    "define_report",
    "derive_key",
    "http_request",
    "master_keys_of",
    "open_store",
    "read_master_key",
    "receiver_secret",
    "report_generate",
    "webhook_deliver",
]
