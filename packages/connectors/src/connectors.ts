/** Creates the handlers of the connectors for a worker. */
import type { ArtifactStore, JobForgeClient, JobHandler } from "@jobforge/sdk-ts";
import { fileStore } from "./artifacts/file-store.ts";
import { Configurations } from "./configuration.ts";
import { Agents } from "./egress/agents.ts";
import { type EgressDocument, type EgressPolicy, egressPolicy } from "./egress/policy.ts";
import { ConnectorError } from "./errors.ts";
import { httpHandler } from "./http/handler.ts";
import { builtInReports } from "./reports/built-in.ts";
import type { ReportDefinition } from "./reports/define-report.ts";
import { reportHandler } from "./reports/handler.ts";
import { environmentSecrets, type SecretProvider } from "./secrets/provider.ts";
import { Secrets } from "./secrets/secrets.ts";
import type { Surroundings } from "./surroundings.ts";
import { webhookHandler } from "./webhooks/handler.ts";
import type { WebhookOptions } from "./webhooks/keys.ts";

/** The operator's policy: one document for all tenants, or a function that returns the document of a tenant. */
export type EgressSource =
  | EgressDocument
  | ((tenantId: string, signal: AbortSignal) => Promise<EgressDocument> | EgressDocument);

export interface ConnectorOptions {
  /** Reads the configurations of tenants. It is the client of the worker. */
  readonly forge: Pick<JobForgeClient, "connectors" | "usage" | "jobs"> &
    Partial<Pick<JobForgeClient, "artifacts">>;
  /** What may be reached in addition to public addresses. Default: nothing. */
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
    webhookHandler(around, webhooks),
    reportHandler(around.artifacts, [...builtInReports(reader), ...reports]),
  ];
}

function surroundings({ forge, egress = {}, secrets, artifacts }: ConnectorOptions): Surroundings {
  return {
    agents: new Agents(),
    secrets: new Secrets(secrets ?? environmentSecrets()),
    configurations: new Configurations(forge),
    artifacts: artifacts ?? forge.artifacts?.store ?? fileStore(".jobforge/artifacts"),
    egressOf: policies(egress),
  };
}

/** A document is read once, at start, so that a mistake in it is found then. */
function policies(source: EgressSource): Surroundings["egressOf"] {
  if (typeof source !== "function") {
    const policy = egressPolicy(source);
    return async () => policy;
  }
  const known = new Map<string, EgressPolicy>();
  return async (tenantId, signal) => {
    try {
      const policy = egressPolicy(await source(tenantId, signal));
      const kept = known.get(policy.version) ?? policy;
      if (known.size >= 1000) known.clear();
      known.set(kept.version, kept);
      return kept;
    } catch {
      signal.throwIfAborted();
      throw new ConnectorError("config_unavailable", "The egress policy could not be read.", { sent: false });
    }
  };
}
