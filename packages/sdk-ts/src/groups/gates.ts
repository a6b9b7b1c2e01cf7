/** Gates: pausing everything, a type or a tenant. */
import { checkDate, checkTenant, checkText, checkType } from "../arguments.ts";
import { InvalidArgumentError } from "../errors.ts";
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
}

/** Pausing and resuming are for operators. Readers may list. */
export class Gates {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Pauses everything, a type or a tenant: its jobs are no longer claimed. Running jobs continue. */
  async pause(scope: GateScope, options: PauseOptions = {}): Promise<ChangedGate> {
    if (options.reason !== undefined) checkText(options.reason, "reason", bounds.reasonBytes);
    if (options.until !== undefined) checkDate(options.until, "until");
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
  if (typeof scope !== "object" || scope === null)
    throw new InvalidArgumentError('scope must be "all", { type } or { tenantId }', { field: "scope" });
  if ("type" in scope) {
    checkType(scope.type);
    return { p_scope: "type", p_key: scope.type };
  }
  checkTenant(scope.tenantId);
  return { p_scope: "tenant", p_key: scope.tenantId };
}
