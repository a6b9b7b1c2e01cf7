/** The configurations of connectors. */
import { checkTenant } from "../arguments/names.ts";
import { checkText } from "../arguments/values.ts";
import type { CallArguments, Transport } from "../transport/transport.ts";
import { bounds } from "../words.ts";

/** A connector is named by its tenant and its type. */
export interface ConnectorReference {
  readonly tenantId: string;
  readonly type: string;
}

export class Connectors {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The configuration of a tenant's connector; undefined when it has none. For workers and operators. */
  async get(reference: ConnectorReference): Promise<Record<string, unknown> | undefined> {
    const args = referenceArguments(reference);
    const config = await this.#transport.call<Record<string, unknown> | null>(
      "jobforge_get_connector_config",
      args,
    );
    return config ?? undefined;
  }

  /**
   * Sets the configuration of a tenant's connector; null removes it. Store the names of the environment variables that
   * hold secrets, not the secrets. For operators and `jobforge_app`.
   */
  async set(reference: ConnectorReference, config: Readonly<Record<string, unknown>> | null): Promise<void> {
    const args = { ...referenceArguments(reference), p_config: config };
    await this.#transport.call("jobforge_set_connector_config", args);
  }
}

function referenceArguments({ tenantId, type }: ConnectorReference): CallArguments {
  checkTenant(tenantId);
  checkText(type, "type", bounds.connectorBytes);
  return { p_tenant_id: tenantId, p_connector_type: type };
}
