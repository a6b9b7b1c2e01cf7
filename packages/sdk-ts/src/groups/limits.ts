/** Limits on how many jobs run at once, and on how many start in a time. */
import { checkTenant, checkType } from "../arguments/names.ts";
import { checkKnown, checkRange, checkText, describe, refuse } from "../arguments/values.ts";
import { InvalidArgumentError } from "../errors.ts";
import { knownOptions } from "../option-names.ts";
import { fromRow, fromRows } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds, type LimitScopeName } from "../words.ts";

/**
 * What a limit counts: a type, a tenant, a type of a tenant, or a concurrency key of a tenant and type. `"*"` stands
 * for each one that has no limit of its own: `{ tenantId: "*" }` limits every tenant by itself, and
 * `{ type, tenantId: "*" }` every tenant of a type.
 */
export type LimitScope =
  | { readonly type: string; readonly tenantId?: undefined; readonly key?: undefined }
  | { readonly tenantId: string; readonly type?: undefined; readonly key?: undefined }
  | { readonly type: string; readonly tenantId: string; readonly key?: undefined }
  | { readonly key: string; readonly type?: undefined; readonly tenantId?: undefined };

export interface LimitOptions {
  /** How many jobs may run at once; 0 lets none start. */
  readonly maxRunning?: number | undefined;
  /** How many jobs may start in each `per`. */
  readonly rate?: number | undefined;
  /** An interval in the syntax of Postgres, such as `1 minute`. */
  readonly per?: string | undefined;
  /** How many jobs may start at once after a quiet time. Default: `rate`. */
  readonly burst?: number | undefined;
}

export interface Limit extends LimitOptions {
  readonly scope: LimitScopeName;
  /** The type, the tenant, `TYPE:TENANT`, or the concurrency key; `*` in a default. */
  readonly key: string;
  readonly setAt: Date;
  readonly setBy: string;
  /** What people call the tenant of the limit; undefined if it has no label. */
  readonly tenantLabel: string | undefined;
}

/** A limit in a list, with its use now. The use of a default is not known: each key counts by itself. */
export interface ListedLimit extends Limit {
  readonly running: number | undefined;
  /** Due jobs that the limit keeps back. */
  readonly waiting: number | undefined;
  /** How many jobs the rate lets start now. */
  readonly tokens: number | undefined;
  /** When the next token comes, if there are none. */
  readonly nextAt: Date | undefined;
  /** False if more jobs wait than `waiting` says. */
  readonly exact: boolean | undefined;
}

/** A limit that was just set. */
export interface ChangedLimit extends Limit {
  /** False if no job, schedule, policy, worker or setting has this type or tenant. */
  readonly known: boolean;
}

const intervalBytes = { min: 1, max: 100 };

function checkPeriod(per: unknown): void {
  if (typeof per !== "string")
    refuse(
      "per",
      `must be a text, not ${describe(per)}`,
      'Pass the time span with its unit, such as "1 minute".',
    );
  checkText(per, "per", intervalBytes);
}

/** Setting and removing are for operators. */
export class Limits {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Sets a limit and replaces an earlier one. Without any number, it exempts the key from the default. Running jobs go
   * on.
   */
  async set(scope: LimitScope, options: LimitOptions): Promise<ChangedLimit> {
    const which = limitArguments(scope);
    const { maxRunning, rate, per, burst } = knownOptions(options, "limit");
    if (maxRunning !== undefined) checkRange(maxRunning, "maxRunning", bounds.maxRunning);
    if (rate !== undefined) checkRange(rate, "rate", bounds.rate);
    if (per !== undefined) checkPeriod(per);
    if (burst !== undefined) checkRange(burst, "burst", bounds.rate);
    const limit = await this.#transport.call<object>("jobforge_set_limit", {
      ...which,
      p_max_running: maxRunning,
      p_rate: rate,
      p_per: per,
      p_burst: burst,
    });
    return fromRow<ChangedLimit>(limit);
  }

  /** The limit of exactly this scope; undefined if there is none. Also for readers. */
  async get(scope: LimitScope): Promise<Limit | undefined> {
    const limit = await this.#transport.call<object | null>("jobforge_get_limit", limitArguments(scope));
    return limit === null ? undefined : fromRow<Limit>(limit);
  }

  /** All limits, with their use now. Also for readers. */
  async list(): Promise<ListedLimit[]> {
    const rows = await this.#transport.call<object[]>("jobforge_list_limits", {});
    return fromRows<ListedLimit>(rows);
  }

  /** Removes a limit. The jobs that it held back can start. Returns false if there was no limit. */
  async remove(scope: LimitScope): Promise<boolean> {
    const { removed } = await this.#transport.call<{ removed: boolean }>(
      "jobforge_remove_limit",
      limitArguments(scope),
    );
    return removed;
  }
}

function limitArguments(scope: LimitScope): { p_scope: LimitScopeName; p_key: string } {
  if (typeof scope !== "object" || scope === null) refuseScope();
  checkKnown(scope, ["type", "tenantId", "key"], { what: "part of a scope" });
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
    hint: 'Use "*" for the default. The types of one tenant have no default: name the type, or limit the tenant.',
  });
}
