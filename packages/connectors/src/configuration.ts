/**
 * The tenant's configuration of a connector, which the tenant's server writes with `forge.connectors.set`. It only
 * narrows what the operator allows.
 */
import type { JobForgeClient } from "@jobforge/sdk-ts";
import { z } from "zod";
import { hostPattern } from "./egress/policy.ts";
import { ConnectorError } from "./errors.ts";
import { headerValues } from "./http/definition.ts";

const document = z.strictObject({
  /** If there are any, only these hosts are reached. */
  allowed_hosts: z.array(hostPattern).default([]),
  /** Sent with each request, unless the payload sets the same header. Values may be references to secrets. */
  default_headers: headerValues.default({}),
  /** The longest time that a payload may ask for. */
  timeout_ms: z.int().min(1).optional(),
  /** The largest response that a payload may ask for. */
  max_bytes: z.int().min(0).optional(),
  user_agent_suffix: z
    .string()
    .regex(/^[\x20-\x7e]{1,100}$/)
    .optional(),
  /** The waits after each failure, in seconds. */
  retry_schedule: z.array(z.int().min(1).max(86_400)).max(50).optional(),
});
export type ConnectorConfiguration = z.output<typeof document>;

/** The name of a connector in `forge.connectors`. */
export type ConnectorName = "http.request" | "webhook.deliver";

const cacheMs = 5000;
const maxCached = 10_000;

export class Configurations {
  readonly #forge: Pick<JobForgeClient, "connectors">;
  readonly #cache = new Map<string, { readonly until: number; readonly config: ConnectorConfiguration }>();

  constructor(forge: Pick<JobForgeClient, "connectors">) {
    this.#forge = forge;
  }

  /** The configuration, at most five seconds old. One that cannot be read is an error, never "no restrictions". */
  async of(tenantId: string, type: ConnectorName): Promise<ConnectorConfiguration> {
    const key = `${tenantId} ${type}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined && cached.until > performance.now()) return cached.config;
    const config = await this.#read(tenantId, type);
    if (this.#cache.size >= maxCached) this.#cache.clear();
    this.#cache.set(key, { config, until: performance.now() + cacheMs });
    return config;
  }

  async #read(tenantId: string, type: ConnectorName): Promise<ConnectorConfiguration> {
    let found: unknown;
    try {
      found = await this.#forge.connectors.get({ tenantId, type });
    } catch {
      throw unavailable(`The configuration of ${type} could not be read.`);
    }
    const { data, error } = document.safeParse(found ?? {});
    if (data !== undefined) return data;
    const [issue] = error.issues;
    throw unavailable(
      `The configuration of ${type} is invalid: ${issue?.path.join(".")}: ${issue?.message}.`,
    );
  }
}

function unavailable(message: string): ConnectorError {
  return new ConnectorError("config_unavailable", message, { sent: false });
}
