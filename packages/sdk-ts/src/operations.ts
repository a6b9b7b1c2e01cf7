/** What operators steer and watch: policies, gates, tenants, workers, usage, the audit log, connectors, logins. */
import { checkDate, checkPolicy, checkRange, checkTenant, checkText, checkType } from "./arguments.ts";
import type { JobDefinition } from "./definition.ts";
import { InvalidArgumentError } from "./errors.ts";
import { Limits } from "./limits.ts";
import { checkedPageSize, List, type PageOptions } from "./list.ts";
import {
  type CountOptions,
  countJobs,
  type DeadGroup,
  type DeadGroupOptions,
  type Health,
  type JobCount,
  listDeadGroups,
  listTypes,
  readHealth,
  type TypeInfo,
  type TypeOptions,
} from "./overview.ts";
import {
  type Policy,
  type PolicyChanges,
  type PolicySync,
  type SyncOptions,
  syncPolicies,
} from "./policies.ts";
import { fromRow, toKeys } from "./rows.ts";
import type { ScheduleDefinition } from "./schedule.ts";
import { type ScheduleSync, syncSchedules } from "./sync-schedules.ts";
import type { Transport } from "./transport.ts";
import {
  countLive,
  type LiveCount,
  type LiveCountOptions,
  readUsage,
  Tenants,
  type Usage,
  type UsageOptions,
} from "./usage.ts";

/** What a gate pauses: everything, a type, or a tenant. */
export type GateScope = "all" | { readonly type: string } | { readonly tenantId: string };

export interface PauseOptions {
  /** For people; kept with the gate and in the audit log. */
  readonly reason?: string | undefined;
  /** When the pause ends by itself. */
  readonly until?: Date | undefined;
}

export interface Gate {
  readonly scope: "all" | "type" | "tenant";
  /** The type or the tenant; empty for everything. */
  readonly key: string;
  readonly reason: string | undefined;
  readonly until: Date | undefined;
  readonly setAt: Date;
  readonly setBy: string;
  /** Due jobs that wait behind it; those behind two gates count at both. */
  readonly waiting: number;
  /** False: `waiting` is an estimate, because there are many. */
  readonly exact: boolean;
}

export interface WorkerInfo {
  readonly id: string;
  readonly status: "alive" | "gone";
  readonly instance: string | undefined;
  readonly tenantId: string | undefined;
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** Undefined: any. */
  readonly types: readonly string[] | undefined;
  readonly concurrency: number | undefined;
  readonly running: number;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  readonly version: string | undefined;
}

export interface AuditEntry {
  readonly id: number;
  readonly at: Date;
  readonly tenantId: string;
  readonly actor: string;
  readonly action: string;
  readonly entityType: string;
  readonly entityId: string | undefined;
  readonly message: string | undefined;
  readonly meta: unknown;
}

/** Which entries of the audit log: those that have all of what is given. */
export interface AuditOptions extends PageOptions {
  /** Without one: every tenant, for operators. */
  readonly tenantId?: string | undefined;
  readonly action?: string | undefined;
  readonly entityType?:
    | "job"
    | "jobs"
    | "schedule"
    | "type"
    | "gate"
    | "limit"
    | "role"
    | "token"
    | "connector"
    | "tenant"
    | undefined;
  readonly entityId?: string | undefined;
  readonly actor?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
}

export interface ConnectorReference {
  readonly tenantId: string;
  readonly type: string;
}

export class Operations {
  /** The way to the kernel, for functions that have no method here. */
  readonly transport: Transport;
  /** Quotas and weights. */
  readonly tenants: Tenants;
  /** How many jobs run at once and how many start in a time. */
  readonly limits: Limits;

  constructor(transport: Transport) {
    this.transport = transport;
    this.tenants = new Tenants(transport);
    this.limits = new Limits(transport);
  }

  /** What was used: runs, how they ended, how long they waited and ran, what they cost. Ten seconds late at most while workers run. */
  usage(options: UsageOptions = {}): Promise<Usage[]> {
    return readUsage(this.transport, options);
  }

  /** How many jobs are live now, and since when the oldest waits. */
  countLive(options: LiveCountOptions = {}): Promise<LiveCount[]> {
    return countLive(this.transport, options);
  }

  /** Pauses everything, a type or a tenant: nothing of it is claimed any more; what runs goes on. */
  async pause(scope: GateScope, options: PauseOptions = {}): Promise<void> {
    if (options.reason !== undefined) checkText(options.reason, "reason", 10_000);
    if (options.until !== undefined) checkDate(options.until, "until");
    await this.#setGate(scope, true, options);
  }

  async resume(scope: GateScope): Promise<void> {
    await this.#setGate(scope, false, {});
  }

  async #setGate(scope: GateScope, paused: boolean, { reason, until }: PauseOptions): Promise<void> {
    await this.transport.call("jobforge_set_gate", {
      ...gateArguments(scope),
      p_paused: paused,
      p_reason: reason,
      p_until: until,
    });
  }

  /** What is paused now. */
  gates(): Promise<Gate[]> {
    return this.#rows<Gate>("jobforge_list_gates");
  }

  /** The workers that heartbeat, the last seen first. */
  workers(): Promise<WorkerInfo[]> {
    return this.#rows<WorkerInfo>("jobforge_list_workers");
  }

  /** How many jobs the filters mean, by tenant, type and status; the newest 100,000 at most are looked at. */
  count(options: CountOptions = {}): Promise<JobCount[]> {
    return countJobs(this.transport, options);
  }

  /** Failed and dead jobs by type and kind of error, the largest group first. */
  deadGroups(options: DeadGroupOptions = {}): Promise<DeadGroup[]> {
    return listDeadGroups(this.transport, options);
  }

  /** The types there are, with what waits, runs and has just ended. For operators and readers. */
  types(options: TypeOptions = {}): Promise<TypeInfo[]> {
    return listTypes(this.transport, options);
  }

  /** Facts about the installation, for monitoring. For operators and readers. */
  health(): Promise<Health> {
    return readHealth(this.transport);
  }

  async #rows<T>(name: string): Promise<T[]> {
    return (await this.transport.call<object[]>(name, {})).map((row) => fromRow<T>(row));
  }

  /** How a type behaves: its own policy, or the default one, whose `type` is then `*`. */
  async policy(type: string): Promise<Policy> {
    checkType(type);
    return fromRow<Policy>(await this.transport.call<object>("jobforge_get_policy", { p_type: type }));
  }

  /** Sets how a type behaves, or with `*` every type without a policy of its own; what is not named stays. */
  async setPolicy(type: string, changes: PolicyChanges): Promise<Policy> {
    if (type !== "*") checkType(type);
    checkPolicy(changes);
    const args = { p_type: type, p_policy: toKeys(changes) };
    return fromRow<Policy>(await this.transport.call<object>("jobforge_set_policy", args));
  }

  /**
   * Brings the database in line with definitions: the policies of jobs (retries, timeout, lease, audit action, retention), and, for an
   * `app`, its schedules: makes and changes what is declared, and disables what it declared before and no longer does. Writes only what
   * differs, and answers it, schedules after policies. What is not mentioned stays as operators have set it. Call it whenever a process starts.
   */
  sync(
    jobs: readonly JobDefinition[],
    options?: SyncOptions & { readonly app?: undefined },
  ): Promise<PolicySync[]>;
  sync(
    definitions: readonly (JobDefinition | ScheduleDefinition)[],
    options: SyncOptions & { readonly app: string },
  ): Promise<(PolicySync | ScheduleSync)[]>;
  async sync(
    definitions: readonly (JobDefinition | ScheduleDefinition)[],
    options: SyncOptions = {},
  ): Promise<(PolicySync | ScheduleSync)[]> {
    const jobs = definitions.flatMap((each) => ("job" in each ? [] : [each]));
    const schedules = definitions.flatMap((each) => ("job" in each ? [each] : []));
    const { app, dryRun = false, tenantId } = options;
    if (app === undefined && schedules.length > 0)
      throw new InvalidArgumentError("Invalid argument: app is required to sync schedules", {
        field: "app",
        hint: "Name the application whose code declares them, so that those it no longer declares can be told from others.",
      });
    const policies = await syncPolicies(this, jobs, dryRun);
    if (app === undefined) return policies;
    return [...policies, ...(await syncSchedules(this.transport, schedules, { app, tenantId, dryRun }))];
  }

  /** The audit log, newest first: of a tenant, or of all. */
  audit(options: AuditOptions = {}): List<AuditEntry> {
    const { tenantId, pageSize: _, ...filters } = options;
    if (tenantId !== undefined) checkTenant(tenantId);
    if (filters.after !== undefined) checkDate(filters.after, "after");
    if (filters.before !== undefined) checkDate(filters.before, "before");
    const limit = checkedPageSize(options);
    return new List(async (cursor) => {
      const rows = await this.transport.call<object[]>("jobforge_list_audit", {
        p_tenant_id: tenantId,
        p_filters: { ...toKeys(filters), limit, cursor },
      });
      const items = rows.map((row) => fromRow<AuditEntry>(row));
      const last = items.length === limit ? items.at(-1)?.id : undefined;
      return { items, cursor: last?.toString() };
    });
  }

  /** How a tenant's connector is configured; undefined when it is not. For workers and operators. */
  async connectorConfig({
    tenantId,
    type,
  }: ConnectorReference): Promise<Record<string, unknown> | undefined> {
    checkTenant(tenantId);
    checkText(type, "type", 800);
    const args = { p_tenant_id: tenantId, p_connector_type: type };
    const config = await this.transport.call<Record<string, unknown> | null>(
      "jobforge_get_connector_config",
      args,
    );
    return config ?? undefined;
  }

  /** Configures a tenant's connector; null removes the configuration. Name the environment variables of secrets, not the secrets. */
  async setConnectorConfig(
    { tenantId, type }: ConnectorReference,
    config: Readonly<Record<string, unknown>> | null,
  ): Promise<void> {
    checkTenant(tenantId);
    checkText(type, "type", 800);
    const args = { p_tenant_id: tenantId, p_connector_type: type, p_config: config };
    await this.transport.call("jobforge_set_connector_config", args);
  }

  /** Binds a login to one tenant, or with null unbinds it. */
  async bindRole(role: string, tenantId: string | null): Promise<void> {
    checkText(role, "role", 63);
    if (tenantId !== null) checkTenant(tenantId);
    await this.transport.call("jobforge_bind_role", { p_role: role, p_tenant_id: tenantId });
  }

  /** Does a slice of maintenance. Workers do it by themselves; for a cron where there may be none. */
  async maintain(limit = 1000): Promise<void> {
    checkRange(limit, "limit", 1, 100_000);
    await this.transport.call("jobforge_maintain", { p_limit: limit });
  }
}

function gateArguments(scope: GateScope): { p_scope: string; p_key: string | null } {
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
