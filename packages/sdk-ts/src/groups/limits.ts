/** Limits on how many jobs run at once and how many start in a time, as operators set them. */
import { checkRange, checkTenant, checkText, checkType } from "../arguments.ts";
import { InvalidArgumentError } from "../errors.ts";
import { fromRow, fromRows } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds, type LimitScopeName } from "../words.ts";

/**
 * What a limit counts: each type, each tenant, each type of a tenant, or each concurrency key of a tenant and type. `"*"` stands for
 * all that have no limit of their own: `{ tenantId: "*" }` is every tenant by itself, `{ type, tenantId: "*" }` every tenant of a type.
 */
export type LimitScope =
  | { readonly type: string; readonly tenantId?: undefined; readonly key?: undefined }
  | { readonly tenantId: string; readonly type?: undefined; readonly key?: undefined }
  | { readonly type: string; readonly tenantId: string; readonly key?: undefined }
  | { readonly key: string; readonly type?: undefined; readonly tenantId?: undefined };

export interface LimitOptions {
  /** How many may run at once; 0 lets none start. */
  readonly maxRunning?: number | undefined;
  /** How many may start in each `per`. */
  readonly rate?: number | undefined;
  /** An interval as Postgres reads it, such as `1 minute`. */
  readonly per?: string | undefined;
  /** How many may start at once after a rest; `rate` unless said. */
  readonly burst?: number | undefined;
}

export interface Limit extends LimitOptions {
  readonly scope: LimitScopeName;
  /** The type, the tenant, `TYPE:TENANT`, or the concurrency key; `*` where it is a default. */
  readonly key: string;
  readonly setAt: Date;
  readonly setBy: string;
}

const intervalBytes = { min: 1, max: 100 };

/** Setting and removing are for operators. */
export class Limits {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Sets a limit, in place of the one that was there. Without any number it frees the key from the default. What runs goes on. */
  async set(scope: LimitScope, options: LimitOptions): Promise<Limit> {
    const { maxRunning, rate, per, burst } = options;
    if (maxRunning !== undefined) checkRange(maxRunning, "maxRunning", bounds.maxRunning);
    if (rate !== undefined) checkRange(rate, "rate", bounds.rate);
    if (per !== undefined) checkText(per, "per", intervalBytes);
    if (burst !== undefined) checkRange(burst, "burst", bounds.rate);
    const limit = await this.#transport.call<object>("jobforge_set_limit", {
      ...limitArguments(scope),
      p_max_running: maxRunning,
      p_rate: rate,
      p_per: per,
      p_burst: burst,
    });
    return fromRow<Limit>(limit);
  }

  /** The limit of exactly this scope; undefined when there is none. Readers may, too. */
  async get(scope: LimitScope): Promise<Limit | undefined> {
    const limit = await this.#transport.call<object | null>("jobforge_get_limit", limitArguments(scope));
    return limit === null ? undefined : fromRow<Limit>(limit);
  }

  /** The limits there are. Readers may, too. */
  async list(): Promise<Limit[]> {
    const rows = await this.#transport.call<object[]>("jobforge_list_limits", {});
    return fromRows<Limit>(rows);
  }

  /** Removes a limit; what it held back starts. False when there was none. */
  async remove(scope: LimitScope): Promise<boolean> {
    const { removed } = await this.#transport.call<{ removed: boolean }>(
      "jobforge_remove_limit",
      limitArguments(scope),
    );
    return removed;
  }
}

function limitArguments(scope: LimitScope): { p_scope: LimitScopeName; p_key: string } {
  const { type, tenantId, key } = scope;
  if (key !== undefined && (type !== undefined || tenantId !== undefined)) refuseScope();
  if (type !== undefined && type !== "*") checkType(type);
  if (tenantId !== undefined && tenantId !== "*") checkTenant(tenantId);
  if (key !== undefined) {
    checkText(key, "key");
    return { p_scope: "key", p_key: key };
  }
  if (type === undefined)
    return tenantId === undefined ? refuseScope() : { p_scope: "tenant", p_key: tenantId };
  if (tenantId === undefined) return { p_scope: "type", p_key: type };
  if (type !== "*") return { p_scope: "type_tenant", p_key: `${type}:${tenantId}` };
  return tenantId === "*" ? { p_scope: "type_tenant", p_key: "*" } : refuseScope();
}

function refuseScope(): never {
  throw new InvalidArgumentError("scope must be { type }, { tenantId }, { type, tenantId } or { key }", {
    field: "scope",
    hint: 'Use "*" for the default. One tenant\'s types each by itself have no default: name the type, or limit the tenant.',
  });
}
