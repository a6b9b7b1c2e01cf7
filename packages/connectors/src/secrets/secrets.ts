/** Looks up secrets for requests. A secret is bound to tenants and to hosts, and every refusal has the same error. */
import { matchesAny } from "../egress/hosts.ts";
import type { EgressPolicy } from "../egress/policy.ts";
import { portOf } from "../egress/url.ts";
import { ConnectorError } from "../errors.ts";
import { type SecretProvider, type SecretReference, sharedTenant } from "./provider.ts";

const cacheMs = 60_000;
const maxCached = 10_000;

export interface SecretUse {
  readonly tenantId: string;
  readonly policy: EgressPolicy;
  /** Every host that the secret, or what is made with it, is sent to. */
  readonly urls: readonly URL[];
  readonly signal: AbortSignal;
}

export class Secrets {
  readonly #provider: SecretProvider;
  readonly #cache = new Map<string, { readonly value: string; readonly until: number }>();

  constructor(provider: SecretProvider) {
    this.#provider = provider;
  }

  /**
   * Resolves to the value. A secret that does not exist, belongs to another tenant, is not listed in the policy, is not
   * bound to the host, or would travel in plain text, gives the same error.
   */
  async resolve({ $secret: name }: SecretReference, use: SecretUse): Promise<string> {
    const rule = Object.hasOwn(use.policy.secrets, name) ? use.policy.secrets[name] : undefined;
    const isBound = use.urls.every(
      (url) =>
        (url.protocol === "https:" || use.policy.allow_http) &&
        matchesAny(rule?.hosts ?? [], url.hostname, portOf(url)),
    );
    if (rule === undefined || !isBound) throw unavailable();
    const value =
      (await this.#get(use.tenantId, name, use.signal)) ??
      (rule.shared ? await this.#get(sharedTenant, name, use.signal) : undefined);
    // A line break could add a header.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
    if (value === undefined || value === "" || /[\r\n\u0000]/.test(value)) throw unavailable();
    return value;
  }

  async #get(tenantId: string, name: string, signal: AbortSignal): Promise<string | undefined> {
    const key = `${tenantId} ${name}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined && cached.until > performance.now()) return cached.value;
    // The reason is the operator's: it stays out of the job's error.
    const value = await this.#provider.get(tenantId, name, signal).catch(() => undefined);
    signal.throwIfAborted();
    this.#cache.delete(key);
    if (value === undefined) return undefined;
    if (this.#cache.size >= maxCached) this.#cache.clear();
    this.#cache.set(key, { value, until: performance.now() + cacheMs });
    return value;
  }
}

function unavailable(): ConnectorError {
  return new ConnectorError(
    "secret_unavailable",
    "A secret of this job is not available: it is missing, or not allowed for this tenant and URL. " +
      "An operator lists it in the egress policy under secrets, and sets allow_http for plain http.",
    { sent: false },
  );
}
