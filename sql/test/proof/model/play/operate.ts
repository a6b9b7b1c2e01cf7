/** Steps of operators, time, readers and unauthorized callers, and the ends of open transactions. */

import { allTenants, globalTenant } from "../../../support/kernel.ts";
import { isPaused } from "../claim.ts";
import { boundTenant, startTime, tenantIds } from "../kernel.ts";
import { maintain } from "../leases.ts";
import { defaultPolicy, type Model, type Policy } from "../state.ts";
import { find, matching } from "../steer.ts";
import type { DrawnPolicy, StepOf } from "../steps.ts";
import { filterDocument, filterOf, shown, tenantOf, time, typeOf } from "./specs.ts";
import { type Call, Divergence, idle, type Stage, same } from "./stage.ts";

/** Audit rows are kept for a year, which the model does not include. So a scenario must be shorter. */
const longestScenario = 300 * 86_400_000;

/** The presets of the documentation. */
const presets: Record<NonNullable<DrawnPolicy["preset"]>, Partial<Policy>> = {
  jobforge: { base_ms: 1000, cap_ms: 3_600_000, factor: 2, max_attempts: 5 },
  harmonyk: { base_ms: 1000, cap_ms: 60_000, factor: 2, max_attempts: 6 },
  atlas: { base_ms: 10_000, cap_ms: null, factor: 2, max_attempts: 4 },
  processing: { base_ms: 30_000, cap_ms: 600_000, factor: 2, max_attempts: 5 },
};

export async function playPolicy(stage: Stage, step: StepOf<"policy">): Promise<string> {
  const type = step.type === null ? "*" : typeOf(stage, step.type);
  const { preset, retention } = step.policy;
  const values = { ...step.policy.values, ...(retention === undefined ? {} : { retention_days: retention }) };
  const document = { ...(preset === null ? {} : { preset }), ...values };
  const actor = stage.kernel.sessions.operator.role;
  stage.doing = `operator sets the policy of ${type} ${JSON.stringify(document)}`;
  return await stage.perform(
    "direct",
    {
      session: "operator",
      sql: "select jobforge_set_policy($1, $2) as answer",
      values: [type, JSON.stringify(document)],
    },
    (model) => {
      const before = type === "*" ? (model.policies.get("*") ?? defaultPolicy) : model.policyOf(type);
      const policy = { ...before, ...(preset === null ? {} : presets[preset]), ...values };
      model.policies.set(type, policy);
      model.note("POLICY_SET", allTenants, actor, type);
      return policy;
    },
    (policy, [row]) => {
      const answer = row as Record<string, unknown>;
      for (const [key, value] of Object.entries(policy)) same(key, answer[key], value);
      return "set";
    },
  );
}

/** Returns the name of a step's gate in the model. */
function gateOf(stage: Stage, { scope, key }: StepOf<"gate">): string {
  const keys = { all: "", type: ` ${typeOf(stage, key)}`, tenant: ` ${tenantOf(stage, key)}` };
  return `${scope}${keys[scope]}`;
}

/** Returns one of the gates that pause now, because resuming another has no effect. */
function pausedGate(stage: Stage, number: number): string | undefined {
  const paused = stage.base.gates.entries().filter(([gate]) => isPaused(stage.base, gate));
  return paused[number % paused.length]?.[0];
}

export async function playGate(stage: Stage, step: StepOf<"gate">): Promise<string> {
  const isPausing = step.isPaused;
  const gate = (isPausing ? undefined : pausedGate(stage, step.key)) ?? gateOf(stage, step);
  const [scope, key] = gate.split(" ");
  const until = isPausing && step.until !== null ? stage.now + step.until : null;
  const actor = stage.kernel.sessions.operator.role;
  const name = scope === "tenant" && key !== undefined ? `tenant ${shown(key)}` : gate;
  stage.doing = `operator ${isPausing ? "pauses" : "resumes"} ${name}${until === null ? "" : " for a while"}`;
  return await stage.perform(
    "direct",
    {
      session: "operator",
      sql: "select jobforge_set_gate($1, $2, $3, p_until => $4) as answer",
      values: [scope, key ?? null, isPausing, time(until)],
    },
    (model) => {
      const isChange = isPausing || isPaused(model, gate);
      model.gates.set(gate, { until: isPausing ? until : stage.now });
      if (!isChange) return;
      const tenant = scope === "tenant" ? key : undefined;
      model.note(
        isPausing ? "GATE_PAUSED" : "GATE_RESUMED",
        tenant ?? allTenants,
        actor,
        gate.replace(" ", ":"),
      );
    },
    (_, [row]) => {
      same("paused", (row as { paused: unknown }).paused, isPausing);
      return isPausing ? "paused" : "resumed";
    },
  );
}

export async function playMaintain(stage: Stage): Promise<string> {
  stage.doing = "maintenance";
  return await maintenance(stage);
}

async function maintenance(stage: Stage): Promise<string> {
  return await stage.perform(
    "direct",
    { session: "worker", sql: "select jobforge_maintain() as answer", values: [] },
    (model) => maintain(model),
    () => "done",
  );
}

export async function playTravel(stage: Stage, step: StepOf<"travel">): Promise<string> {
  stage.shared.now = Math.min(stage.now + step.by, startTime + longestScenario);
  stage.doing = `${step.by / 1000} s pass${step.isMaintained ? ", then maintenance" : ""}`;
  return step.isMaintained ? await maintenance(stage) : "";
}

export async function playSavepoint(stage: Stage, step: StepOf<"savepoint">): Promise<string> {
  const what = {
    set: "sets a savepoint",
    release: "releases its savepoint",
    back: "rolls back to its savepoint",
  };
  stage.doing = `${step.via} ${what[step.how]}`;
  return (await stage.savepoint(step.via, step.how)) ? "" : idle;
}

export async function playFinish(stage: Stage, step: StepOf<"finish">): Promise<string> {
  if (stage.transaction(step.via) === undefined) return idle;
  stage.doing = `${step.via} ${step.how === "commit" ? "commits" : "rolls back"}`;
  await stage.end(step.via, step.how);
  return "";
}

/** Makes a call for another tenant as a login that is bound to the first. Every such call is refused. */
export async function playTrespass(stage: Stage, step: StepOf<"trespass">): Promise<string> {
  const other = tenantIds[1 + (step.pick % (tenantIds.length - 1))] ?? globalTenant;
  const strangers = stage.base.known().filter((job) => job.tenant === other && stage.hasId(job.name));
  const victim = strangers[step.pick % strangers.length];
  const id = victim === undefined ? boundTenant : stage.idOf(victim.name);
  const calls: Record<typeof step.what, Omit<Call, "tenant">> = {
    enqueue: { session: "tenant", sql: "select jobforge_enqueue_job($1, 'a') as answer", values: [other] },
    cancel: { session: "tenant", sql: "select jobforge_cancel_job($1, $2) as answer", values: [id, other] },
    get: { session: "tenant", sql: "select id as answer from jobforge_get_job($1, $2)", values: [id, other] },
    list: { session: "tenant", sql: "select id as answer from jobforge_list_jobs($1)", values: [other] },
    claim: {
      session: "bound",
      sql: "select id as answer from jobforge_claim_jobs('w3', 5, null, $1)",
      values: [other],
    },
    settle: {
      session: "bound",
      sql: "select jobforge_settle_jobs('w3', '[]', 5, null, $1) as answer",
      values: [other],
    },
  };
  stage.doing = `a login of t0 tries to ${step.what} for ${shown(other)}`;
  return await stage.refuse(calls[step.what], "42501");
}

/** Reads a list and one job, as tenants and operators do. */
export async function playRead(stage: Stage, step: StepOf<"read">): Promise<string> {
  const tenant = tenantOf(stage, step.tenant);
  const session = step.byTenant && tenant === boundTenant ? "tenant" : "operator";
  const filter = filterOf(step.filter);
  stage.doing = `${session} lists jobs of ${shown(tenant)} ${JSON.stringify(filterDocument(filter))} limit ${step.limit}`;
  const page = stage.newestFirst(matching(stage.base, tenant, filter)).slice(0, step.limit);
  const list = await stage.call("direct", {
    session,
    sql: "select to_jsonb(j.id) as answer from jobforge_list_jobs($1, $2) j",
    values: [tenant, JSON.stringify({ ...filterDocument(filter), limit: step.limit })],
  });
  const names = (rows: readonly unknown[]): unknown[] => rows.map((id) => stage.nameOf(String(id)) ?? id);
  if (list.code !== null) throw new Divergence(`refused with ${list.code}: ${list.message}`);
  same(
    "the list",
    names(list.rows),
    page.map((job) => job.name),
  );
  const meant = stage.pickJob(step.job);
  if (meant !== undefined) await readOne(stage, stage.base, session, tenant, meant.name);
  return `${page.length}`;
}

async function readOne(
  stage: Stage,
  model: Model,
  session: "tenant" | "operator",
  tenant: string,
  name: string,
): Promise<void> {
  const got = await stage.call("direct", {
    session,
    sql: "select to_jsonb(j.status) as answer from jobforge_get_job($1, $2) j",
    values: [stage.idOf(name), tenant],
  });
  const job = find(model, tenant, name);
  same(`the status of ${name}`, got.rows, job === undefined ? [] : [job.status]);
}
