/** Gates: pausing everything, a type or a tenant. */
import { checkTenant, checkType } from "../arguments/names.ts";
import { checkDate, checkKnown, checkText } from "../arguments/values.ts";
import { InvalidArgumentError } from "../errors.ts";
import { knownOptions } from "../option-names.ts";
import { fromRow, fromRows } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds, type GateScopeName } from "../words.ts";

/** What a gate pauses: everything, a type, or a tenant. */
export type GateScope = "all" | { readonly type: string } | { readonly tenantId: string };

export interface PauseOptions {
  /** For humans. It is stored with the gate and in the audit log. */
  readonly reason?: string | undefined;
  /** When the pause ends by itself. */
  readonly until?: Date | undefined;
}

export interface Gate {
  readonly scope: GateScopeName;
  /** The type or the tenant; empty for everything. */
  readonly key: string;
  readonly reason: string | undefined;
  readonly until: Date | undefined;
  readonly setAt: Date;
  readonly setBy: string;
  /** What people call the tenant of the gate; undefined if it has no label. */
  readonly tenantLabel: string | undefined;
  /** Due jobs that wait behind this gate. A job behind two gates counts at both. */
  readonly waiting: number;
  /** False if `waiting` is an estimate, because there are many. */
  readonly exact: boolean;
}

/** What `gates.pause` and `gates.resume` did. */
export interface ChangedGate {
  readonly scope: GateScopeName;
  readonly key: string;
  readonly paused: boolean;
  readonly reason: string | undefined;
  readonly until: Date | undefined;
  /** Whether it was paused before. False after a resume: nothing was paused. */
  readonly wasPaused: boolean;
  /** False if no job, schedule, policy, worker or setting has this type or tenant. */
  readonly known: boolean;
  /** The entry in the audit log; undefined if nothing changed. */
  readonly auditId: number | undefined;
}

/** Pausing and resuming are for operators. Readers may list. */
export class Gates {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Pauses everything, a type or a tenant: its jobs are no longer claimed. Running jobs continue. */
  async pause(scope: GateScope, options: PauseOptions = {}): Promise<ChangedGate> {
    const { reason, until } = knownOptions(options, "pause");
    if (reason !== undefined) checkText(reason, "reason", bounds.reasonBytes);
    if (until !== undefined) checkDate(until, "until");
    return await this.#set(scope, true, options);
  }

  /** Ends a pause. If nothing was paused, `wasPaused` is false. */
  async resume(scope: GateScope): Promise<ChangedGate> {
    return await this.#set(scope, false, {});
  }

  /** What is paused now. */
  async list(): Promise<Gate[]> {
    return fromRows<Gate>(await this.#transport.call<object[]>("jobforge_list_gates", {}));
  }

  async #set(scope: GateScope, paused: boolean, { reason, until }: PauseOptions): Promise<ChangedGate> {
    const gate = await this.#transport.call<object>("jobforge_set_gate", {
      ...scopeArguments(scope),
      p_paused: paused,
      p_reason: reason,
      p_until: until,
    });
    return fromRow<ChangedGate>(gate);
  }
}

function scopeArguments(scope: GateScope): { p_scope: GateScopeName; p_key: string | null } {
  if (scope === "all") return { p_scope: "all", p_key: null };
  if (typeof scope !== "object" || scope === null) refuseScope();
  checkKnown(scope, ["type", "tenantId"], { what: "part of a scope" });
  const { type, tenantId }: { readonly type?: string; readonly tenantId?: string } = scope;
  if ((type === undefined) === (tenantId === undefined)) refuseScope();
  if (type !== undefined) {
    checkType(type);
    return { p_scope: "type", p_key: type };
  }
  checkTenant(tenantId);
  return { p_scope: "tenant", p_key: tenantId ?? null };
}

function refuseScope(): never {
  throw new InvalidArgumentError('scope must be "all", { type } or { tenantId }', { field: "scope" });
}
