/** Creates the handlers of the connectors for a worker. */
import type { ArtifactStore, JobForgeClient, JobHandler } from "@jobforge/sdk-ts";
import { fileStore } from "./artifacts/file-store.ts";
import { Configurations } from "./configuration.ts";
import { Agents } from "./egress/agents.ts";
import { type EgressSource, policies } from "./egress/policies.ts";
import { httpHandler } from "./http/handler.ts";
import { builtInReports } from "./reports/built-in.ts";
import type { ReportDefinition } from "./reports/define-report.ts";
import { reportHandler } from "./reports/handler.ts";
import { environmentSecrets, type SecretProvider } from "./secrets/provider.ts";
import { Secrets } from "./secrets/secrets.ts";
import type { Surroundings } from "./surroundings.ts";
import { endpointsOf, type WebhookOptions } from "./webhooks/endpoints.ts";
import { webhookHandler } from "./webhooks/handler.ts";

export interface ConnectorOptions {
  /** Reads endpoints, and the configurations and policies of tenants. It is the client of the worker. */
  readonly forge: Pick<JobForgeClient, "connectors" | "egress" | "usage" | "jobs" | "webhooks"> &
    Partial<Pick<JobForgeClient, "artifacts">>;
  /** What may be reached in addition to public addresses and to what operators allow in the database. */
  readonly egress?: EgressSource | undefined;
  /** Default: environment variables. See `environmentSecrets`. */
  readonly secrets?: SecretProvider | undefined;
  /** Default: the store of `forge`, else files in `.jobforge/artifacts`. */
  readonly artifacts?: ArtifactStore | undefined;
  /** Endpoints and keys of webhooks. */
  readonly webhooks?: WebhookOptions | undefined;
  /** Reports in addition to the built-in ones. See `defineReport`. */
  readonly reports?: readonly ReportDefinition[] | undefined;
  /** Reads usage and dead jobs for the built-in reports, which a worker's login may not. Default: `forge`. */
  readonly reader?: Pick<JobForgeClient, "usage" | "jobs"> | undefined;
}

/** The handlers of all connectors: `createWorker(forge, { handlers: [...connectors({ forge })] })`. */
export function connectors(options: ConnectorOptions): JobHandler[] {
  const around = surroundings(options);
  const { forge, webhooks = {}, reports = [], reader = forge } = options;
  return [
    httpHandler(around),
    webhookHandler(around, { endpoints: endpointsOf(forge), ...webhooks }),
    reportHandler(around.artifacts, [...builtInReports(reader), ...reports]),
  ];
}

function surroundings({ forge, egress = {}, secrets, artifacts }: ConnectorOptions): Surroundings {
  return {
    agents: new Agents(),
    secrets: new Secrets(secrets ?? environmentSecrets()),
    configurations: new Configurations(forge),
    artifacts: kept(forge, artifacts ?? forge.artifacts?.store ?? fileStore(".jobforge/artifacts")),
    egressOf: policies(forge, egress),
  };
}

/** The store, which tells the database what it keeps, so that it is deleted with its job. */
function kept({ artifacts }: ConnectorOptions["forge"], store: ArtifactStore): ArtifactStore {
  return artifacts?.keeping(store) ?? store;
}
