/**
 * Sample calls of every function of the API, in an order in which each has something to do. Tests that must hold for
 * every function run them, and fail for a function without a sample.
 */

/** Calls a function by its name with named arguments, and returns its result as JSON. Rows are an array. */
export type CallSample = (name: string, args: Readonly<Record<string, unknown>>) => Promise<unknown>;

export interface SampleResult {
  readonly name: string;
  readonly result: unknown;
}

const tenant = "11111111-1111-4111-8111-111111111111";
const worker = { p_worker_id: "w" };
/** Without a zone, so it is read as UTC. */
const later = "2035-03-04 05:06:07";
const exact = "2035-03-04T05:06:07.5+00:00";
const schedule = { p_tenant_id: tenant, p_type: "s", p_key: "k" };

type Run = { readonly id: string; readonly attempts: number };

/** Makes all sample calls with one caller that is a worker and an operator. `role` is a login of the database. */
export async function callSamples(call: CallSample, role: string): Promise<SampleResult[]> {
  const results: SampleResult[] = [];
  const ask = async <T>(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<T> => {
    const result = await call(`jobforge_${name}`, args);
    results.push({ name: `jobforge_${name}`, result });
    return result as T;
  };
  await setUp(ask, role);
  const jobs = await enqueue(ask);
  const runs = await work(ask);
  await steer(ask, jobs, runs);
  await schedules(ask);
  await workflows(ask);
  await webhooks(ask);
  await read(ask, jobs, runs);
  await tearDown(ask);
  return results;
}

type Ask = <T>(name: string, args?: Readonly<Record<string, unknown>>) => Promise<T>;

async function setUp(ask: Ask, role: string): Promise<void> {
  await ask("set_policy", {
    p_type: "a",
    p_policy: { retention_days: 7, audit_action: "SENT", base_ms: 1500 },
  });
  await ask("get_policy", { p_type: "a" });
  const defined = { a: { base_ms: 2000 }, b: { preset: "quick", redact: ["pin"] } };
  await ask("sync_policies", { p_policies: defined, p_version: "1.0", p_dry_run: true });
  await ask("sync_policies", { p_policies: defined, p_version: "1.0" });
  await ask("sync_policies", { p_policies: { a: {}, b: {} }, p_version: "1.1" });
  await ask("set_tenant", {
    p_tenant_id: tenant,
    p_settings: { label: "org_123", max_pending: 1000, weight: 2 },
  });
  await ask("list_tenants", { p_search: "org", p_figures: true });
  await ask("tenant_id", { p_text: "org_123" });
  await ask("list_policies", { p_filters: { limit: 10 } });
  await ask("reset_policy", { p_type: "none" });
  await ask("set_limit", { p_scope: "key", p_key: "*", p_max_running: 5 });
  await ask("set_limit", { p_scope: "type", p_key: "rated", p_rate: 7, p_per: "90 seconds", p_burst: 3 });
  await ask("bind_role", { p_role: role, p_tenant_id: null });
  await ask("set_connector_config", {
    p_tenant_id: tenant,
    p_connector_type: "http",
    p_config: { retries: 1.5 },
  });
  await ask("get_connector_config", { p_tenant_id: tenant, p_connector_type: "http" });
  await ask("set_gate", {
    p_scope: "type",
    p_key: "held",
    p_paused: true,
    p_reason: "a test",
    p_until: exact,
  });
  await ask("maintain", { p_limit: 100 });
}

async function enqueue(ask: Ask): Promise<string[]> {
  const rich = {
    p_tenant_id: tenant,
    p_type: "a",
    p_payload: { text: "a\\b 'c' \"d\"", number: 0.1, token: "secret" },
    p_idempotency_key: "one",
    p_dedupe_key: "two",
    p_tags: ["x", "y\\z"],
    p_subject: "about",
    p_concurrency_key: "three",
    p_expires_at: exact,
    p_traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  };
  const first = await ask<{ id: string }>("enqueue_job", rich);
  await ask("enqueue_job", rich);
  const more = await ask<{ id: string }[]>("enqueue_jobs", {
    p_tenant_id: tenant,
    p_jobs: [
      { type: "a", run_at: "2001-02-03 04:05:06", expires_at: later },
      { type: "a", priority: 3 },
      { type: "a" },
      { type: "a" },
      { type: "later", run_at: later, tags: ["x"] },
      { type: "held" },
      { type: "steered", payload: { x: [1, null, true] }, tags: ["x"] },
      { type: "steered" },
      { type: "steered" },
    ],
  });
  await ask("enqueue_each", {
    p_tenant_ids: [tenant, tenant],
    p_jobs: [{ type: "each" }, { type: "each", priority: 1e9 }],
  });
  await ask("wake_workers", { p_wakes: { a: null, later } });
  return [first.id, ...more.map(({ id }) => id)];
}

async function work(ask: Ask): Promise<Run[]> {
  const runs = await ask<Run[]>("claim_jobs", { ...worker, p_limit: 10, p_types: ["a"] });
  const [first, second, third, fourth, fifth] = runs;
  const held = runs.map(({ id, attempts }) => ({ id, attempt: attempts }));
  await ask("heartbeat_worker", {
    ...worker,
    p_info: { instance: "i", types: ["a"], held, started_at: later },
  });
  await ask("heartbeat_job", { p_job_id: first?.id, ...worker });
  await ask("progress_job", { p_job_id: first?.id, ...worker, p_progress: { share: 0.25 } });
  await ask("hold_key", { p_job_id: first?.id, ...worker, p_until: "2001-02-03 04:05:06" });
  await ask("note_artifact", { p_tenant_id: tenant, p_area: "reports", p_job_id: first?.id });
  await ask("take_artifacts", { p_limit: 10 });
  await ask("forget_artifacts", { p_artifacts: [{ area: "reports", id: first?.id }] });
  await ask("complete_job", {
    p_job_id: first?.id,
    ...worker,
    p_status: "succeeded",
    p_result: { at: exact, share: 1e-7 },
    p_cost_cents: 3,
  });
  await ask("receive_jobs", { ...worker, p_ids: [first?.id] });
  const error = { message: "Bearer abc.def123456 password=hunter2 \\s+", code: 7 };
  await ask("complete_job", {
    p_job_id: second?.id,
    ...worker,
    p_status: "failed",
    p_error: error,
    p_retry: false,
  });
  await ask("defer_job", { p_job_id: third?.id, ...worker, p_run_at: exact });
  const failed = { id: fourth?.id, attempt: 1, status: "failed", error, retry_at: later };
  await ask("settle_jobs", { ...worker, p_results: [failed], p_claim_limit: 1, p_types: ["a"] });
  const child = { type: "a", run_at: later, payload: { of: "parent" } };
  const done = { id: fifth?.id, attempt: 1, status: "succeeded", children: [child] };
  await ask("settle_jobs_text", { ...worker, p_results: [done], p_claim_limit: 1, p_types: ["a"] });
  return runs;
}

async function steer(ask: Ask, jobs: readonly string[], runs: readonly Run[]): Promise<void> {
  const of = (id: string | undefined): Record<string, unknown> => ({ p_job_id: id, p_tenant_id: tenant });
  await ask("update_job", { ...of(jobs[7]), p_changes: { run_at: later, priority: 2, tags: ["x", "z"] } });
  await ask("reschedule_job", { ...of(jobs[8]), p_run_at: exact });
  await ask("reschedule_job", { ...of(runs[1]?.id), p_reset: true, p_payload: { again: later } });
  await ask("copy_job", { ...of(runs[0]?.id), p_changes: { run_at: later, tags: ["y"], payload: { n: 1 } } });
  await ask("reveal_job", of(runs[0]?.id));
  await ask("cancel_job", of(jobs[9]));
  await ask("watch_job", of(jobs[8]));
  await ask("explain_job", of(jobs[6]));
  await ask("explain_job", of(jobs[5]));
  const filters = { tags: ["x"], status: "queued", created_before: later };
  await ask("count_jobs", { p_tenant_id: tenant, p_filters: filters, p_change: "cancel" });
  await ask("reschedule_jobs", { p_tenant_id: tenant, p_filters: filters });
  await ask("cancel_jobs", { p_tenant_id: tenant, p_filters: filters });
}

async function schedules(ask: Ask): Promise<void> {
  const options = { every: "90 minutes", starts_at: later, ends_at: "2036-01-01 00:00", payload: { x: 1 } };
  await ask("ensure_schedule", { ...schedule, p_options: options });
  await ask("ensure_schedule", {
    p_tenant_id: tenant,
    p_type: "s",
    p_key: "c",
    p_options: { cron: "30 2 * * 1-5", timezone: "Europe/Berlin", starts_at: later },
  });
  const declared = [{ tenant_id: tenant, type: "s", key: "d", every: "PT36H", starts_at: later }];
  await ask("sync_schedules", { p_app: "app", p_schedules: declared, p_dry_run: true });
  await ask("sync_schedules", { p_app: "app", p_schedules: declared });
  await ask("update_schedule", { ...schedule, p_changes: { next_run_at: "2035-05-05 05:05:05" } });
  await ask("set_schedule_enabled", { ...schedule, p_enabled: false });
  await ask("enable_schedule", schedule);
  await ask("disable_schedule", { p_tenant_id: tenant, p_type: "s", p_key: "c" });
  await ask("lock_schedule", schedule);
  await ask("run_schedule", schedule);
  await ask("get_schedule", schedule);
  await ask("list_schedules", { p_tenant_id: tenant, p_filters: {} });
  await ask("list_schedules", {
    p_tenant_id: tenant,
    p_filters: { order: "next_run_at", running: false, failing: false, updated_before: later, tags: [] },
  });
  await ask("next_runs", { ...schedule, p_count: 3 });
  await ask("count_schedules", { p_tenant_id: tenant });
  await ask("claim_jobs", { ...worker, p_limit: 10, p_types: ["s"] });
  await ask("list_schedule_runs", { ...schedule, p_filters: {} });
  await ask("delete_schedule", schedule);
  await ask("delete_schedules", { p_tenant_id: tenant, p_filters: { enabled: false, key_prefix: "c" } });
  await ask("cron_next", { p_expression: "0 3 * * *", p_timezone: "America/New_York", p_after: exact });
  await ask("cron_runs", { p_expression: "*/7 1 1 * *", p_timezone: "UTC", p_after: exact, p_count: 3 });
}

async function workflows(ask: Ask): Promise<void> {
  const steps = [
    { name: "first", type: "step", payload: { of: { $input: "x" } }, tags: ["t"] },
    { name: "each", type: "step", map: { over: [1] }, payload: { $item: [] }, needs: ["first"] },
    { name: "wait", signal: { name: "go", timeout_ms: 60_000 } },
    { name: "group", steps: [{ name: "inner", type: "step" }], output: { $result: "inner" } },
    { name: "last", type: "step", needs: [{ step: "first", policy: "compensate" }] },
  ];
  const options = { idempotency_key: "k", deadline: later, output: { a: 1 } };
  const { id } = await ask<{ id: string }>("start_workflow", {
    p_tenant_id: tenant,
    p_name: "flow",
    p_steps: steps,
    p_input: { x: 1.5 },
    p_options: options,
  });
  const of = { p_workflow_id: id, p_tenant_id: tenant };
  const signal = { p_tenant_id: tenant, p_target_id: id, p_name: "go", p_key: "once" };
  const [run] = await ask<Run[]>("claim_jobs", { ...worker, p_limit: 1, p_types: ["step"] });
  await ask("add_steps", { ...of, p_steps: [{ name: "added", type: "step" }], p_job_id: run?.id, ...worker });
  await ask("complete_job", { p_job_id: run?.id, ...worker, p_status: "succeeded", p_result: { n: 0.1 } });
  await ask("start_workflows", {
    p_tenant_id: tenant,
    p_workflows: [
      { name: "flow", steps: [{ name: "a", type: "step" }], input: { y: 1 }, options: { priority: 2 } },
    ],
  });
  const one = {
    name: "one",
    steps: [
      { name: "bad", type: "bad" },
      { name: "more", type: "bad", needs: ["bad"] },
    ],
  };
  const bad = await ask<{ id: string }[]>("start_workflows", { p_tenant_id: tenant, p_workflows: [one] });
  const broken = { p_workflow_id: bad[0]?.id, p_tenant_id: tenant };
  const failed = { ...worker, p_status: "failed", p_retry: false };
  for (const next of ["retry_workflow", "resolve_step"] as const) {
    const [lost] = await ask<Run[]>("claim_jobs", { ...worker, p_limit: 1, p_types: ["bad"] });
    await ask("complete_job", { p_job_id: lost?.id, ...failed });
    if (next === "retry_workflow") await ask(next, { ...broken, p_steps: ["bad"], p_reset: true });
    else await ask(next, { ...broken, p_step: "bad", p_status: "succeeded", p_result: { n: 1 } });
  }
  await ask("send_signal", { ...signal, p_payload: { by: "me" } });
  await durable(ask);
  await ask("get_workflow", of);
  await ask("explain_workflow", of);
  await ask("explain_workflow", broken);
  await ask("list_workflows", {
    p_tenant_id: tenant,
    p_filters: { status: ["running"], created_before: later },
  });
  await ask("list_steps", { ...of, p_filters: { kind: "job", limit: 10 } });
  await ask("update_workflow", { ...of, p_changes: { deadline: later, priority: 2, tags: ["t"] } });
  for (const change of ["cancel_workflows", "retry_workflows"] as const)
    await ask(change, {
      p_tenant_id: tenant,
      p_filters: { name: "none", created_before: later },
      p_limit: 10,
    });
  await ask("cancel_workflow", { ...of, p_reason: "a test" });
}

async function durable(ask: Ask): Promise<void> {
  const claimed = async (type: string): Promise<Record<string, unknown>> => {
    const [run] = await ask<Run[]>("claim_jobs", { ...worker, p_limit: 1, p_types: [type] });
    return { p_job_id: run?.id, ...worker };
  };
  const { id } = await ask<{ id: string }>("enqueue_job", { p_tenant_id: tenant, p_type: "durable" });
  const first = await claimed("durable");
  await ask("save_steps", { ...first, p_steps: [{ name: "one", value: { n: 0.1 } }] });
  await ask("suspend_job", { ...first, p_wait: { name: "reply", signals: ["yes"], until: later } });
  await ask("send_signal", { p_tenant_id: tenant, p_target_id: id, p_name: "yes", p_payload: 1 });
  const second = await claimed("durable");
  await ask("take_signal", { ...second, p_wait: "reply" });
  await ask("load_steps", second);
  await ask("suspend_job", { ...second, p_wait: { name: "all", children: [{ type: "child" }] } });
  await ask("complete_job", { ...(await claimed("child")), p_status: "succeeded", p_result: 2 });
  await ask("read_results", { ...(await claimed("durable")), p_step: "all" });
}

async function webhooks(ask: Ask): Promise<void> {
  const egress = { allow_cidrs: ["10.1.0.0/16"], secrets: { KEY: { hosts: ["*.example.com"] } } };
  await ask("set_egress_policy", { p_tenant_id: tenant, p_policy: egress });
  await ask("get_egress_policy", { p_tenant_id: tenant });
  const { id } = await ask<{ id: string }>("set_webhook_endpoint", {
    p_tenant_id: tenant,
    p_endpoint: {
      url: "https://example.com/hooks",
      events: ["invoice.*"],
      headers: { "x-a": "b" },
      ordered: true,
    },
  });
  const of = { p_tenant_id: tenant, p_endpoint_id: id };
  await ask("set_webhook_endpoint", { ...of, p_endpoint: { ordered: false, retry_schedule: [5, 60] } });
  await ask("send_event", {
    p_tenant_id: tenant,
    p_event: { id: "one", type: "invoice.paid", timestamp: later, data: { total: 0.1 } },
  });
  await ask("test_webhook_endpoint", of);
  await ask("disable_webhook_endpoint", { ...of, p_reason: "a test" });
  await ask("enable_webhook_endpoint", of);
  await ask("rotate_webhook_endpoint", { ...of, p_keep: "36 hours" });
  await ask("get_webhook_endpoint", of);
  await ask("list_webhook_endpoints", { p_tenant_id: tenant });
  await ask("list_webhook_deliveries", { ...of, p_filters: { created_before: later } });
  await ask("replay_webhook_deliveries", { ...of, p_filters: { status: "canceled" } });
  await ask("delete_webhook_endpoint", of);
}

async function read(ask: Ask, jobs: readonly string[], runs: readonly Run[]): Promise<void> {
  const of = (id: string | undefined): Record<string, unknown> => ({ p_job_id: id, p_tenant_id: tenant });
  await ask("get_job", of(runs[0]?.id));
  await ask("get_job", of(jobs[5]));
  await ask("get_result", of(runs[0]?.id));
  await ask("list_attempts", of(runs[3]?.id));
  await ask("list_logs", of(runs[3]?.id));
  for (const filters of [{}, { tags: ["x"] }, { created_after: "2001-01-01 00:00", error_contains: "\\s" }]) {
    await ask("list_jobs", { p_tenant_id: tenant, p_filters: filters });
    await ask("search_jobs", { p_filters: filters });
    await ask("browse_jobs", { p_tenant_id: tenant, p_filters: filters });
  }
  await ask("list_waiting", {});
  await ask("list_attention", { p_tenant_id: tenant });
  await ask("list_attention", {});
  await ask("series", { p_step: "5 minutes", p_types: ["a"] });
  await ask("list_audit", { p_tenant_id: tenant, p_filters: { after: "2001-01-01 00:00" } });
  await ask("list_dead_groups", { p_tenant_id: tenant, p_filters: {} });
  await ask("list_gates");
  await ask("list_limits");
  await ask("get_limit", { p_scope: "type", p_key: "rated" });
  await ask("list_workers");
  await ask("get_worker", worker);
  await ask("stop_worker", worker);
  await ask("list_changes");
  await ask("list_types", { p_span: "1 hour" });
  await ask("count_live", { p_tenant_id: tenant, p_by: ["type"] });
  await ask("get_tenant", { p_tenant_id: tenant });
  await ask("stats", { p_tenant_id: tenant, p_since: "2001-01-01T00:00:00+00:00" });
  await ask("maintain", { p_limit: 100 });
  await ask("report_usage", {
    p_tenant_id: tenant,
    p_bucket: "day",
    p_by: ["type"],
    p_timezone: "Asia/Kolkata",
  });
  // From a time in the future, because it depends on the clock which of the latest jobs are counted.
  await ask("metrics", { p_since: exact, p_by_tenant: true });
  await ask("health");
}

async function tearDown(ask: Ask): Promise<void> {
  const token = await ask<{ id: string; token: string }>("create_token", {
    p_name: "t",
    p_role: "jobforge_reader",
    p_expires_at: exact,
  });
  await ask("list_tokens");
  await ask("recognise_token", { p_digest: "0".repeat(64) });
  await ask("revoke_token", { p_token_id: token.id });
  await ask("remove_limit", { p_scope: "type", p_key: "rated" });
  await ask("move_jobs", { p_step: "count", p_types: ["rated"] });
  await ask("purge_jobs", {
    p_tenant_id: tenant,
    p_filters: { status: "succeeded", finished_before: later },
  });
}
