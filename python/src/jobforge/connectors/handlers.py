"""Creates the handlers of the connectors for a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..artifacts.file_store import FileStore
from ..artifacts.forms import AsyncAnyStore
from .configuration import Configurations
from .egress.policies import EgressSource, Policies
from .http.handler import http_handler
from .reports.built_in import built_in_reports
from .reports.define_report import ReportDefinition
from .reports.handler import report_handler
from .secrets.provider import EnvironmentSecrets, SecretProvider
from .secrets.secrets import Secrets
from .surroundings import Surroundings
from .webhooks.endpoints import WebhookOptions, endpoints_of
from .webhooks.handler import webhook_handler

if TYPE_CHECKING:
    from ..aio.forge import AsyncJobForge
    from ..definition import JobHandler


def connectors(
    forge: AsyncJobForge,
    *,
    egress: EgressSource | None = None,
    secrets: SecretProvider | None = None,
    artifacts: AsyncAnyStore | None = None,
    webhooks: WebhookOptions | None = None,
    reports: Sequence[ReportDefinition] = (),
    reader: AsyncJobForge | None = None,
) -> list[JobHandler[Any, Any]]:
    """The handlers of all connectors: `Worker(forge, handlers=connectors(forge))`.

    - `forge`: the client of the worker. It reads endpoints, and the configurations and policies of tenants.
    - `egress`: what may be reached in addition to public addresses, and to what operators allow in the database.
    - `secrets`: default: environment variables. See `EnvironmentSecrets`.
    - `artifacts`: default: the store of `forge`, else files in `.jobforge/artifacts`.
    - `webhooks`: endpoints and keys of webhooks.
    - `reports`: reports in addition to the built-in ones. See `define_report`.
    - `reader`: reads usage and dead jobs for the built-in reports, which a worker's login may not. Default: `forge`.
    """
    around = Surroundings(
        secrets=Secrets(secrets or EnvironmentSecrets()),
        configurations=Configurations(forge),
        # The store tells the database what it keeps, so that it is deleted with its job.
        artifacts=forge.artifacts.keeping(artifacts or forge.artifacts.store or FileStore(".jobforge/artifacts")),
        policies=Policies(forge, {} if egress is None else egress),
    )
    return [
        http_handler(around),
        webhook_handler(around, endpoints_of(forge), webhooks or WebhookOptions()),
        report_handler(around.artifacts, [*built_in_reports(reader or forge), *reports]),
    ]
