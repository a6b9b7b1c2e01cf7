/** What the handlers share: connections, secrets, configurations and artifacts. */
import type { ArtifactStore } from "@jobforge/sdk-ts";
import type { Configurations } from "./configuration.ts";
import type { Agents } from "./egress/agents.ts";
import type { EgressPolicy } from "./egress/policy.ts";
import type { Secrets } from "./secrets/secrets.ts";

export interface Surroundings {
  readonly agents: Agents;
  readonly secrets: Secrets;
  readonly configurations: Configurations;
  readonly artifacts: ArtifactStore;
  /** The operator's policy for a tenant. Rejects if it cannot be read. */
  egressOf(tenantId: string, signal: AbortSignal): Promise<EgressPolicy>;
}
