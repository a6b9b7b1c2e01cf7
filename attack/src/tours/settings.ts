/**
 * Callers set hostile session settings and then make ordinary calls. The results must be the same as with default
 * settings, and the calls of others must work afterwards.
 */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import pg from "pg";
import type { Random } from "../../../sql/test/support/random.ts";
import { codeOf, send } from "../call.ts";
import { openAs } from "../scene.ts";
import { tenantA } from "../tenants.ts";
import type { Steps, Tour } from "../tour.ts";

/** Settings that every login may change, with hostile values. Unknown values are refused and then not set. */
const settings: Readonly<Record<string, readonly string[]>> = {
  TimeZone: [
    "<Z>5",
    "UTC5",
    "UTC-5",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "America/St_Johns",
    "Pacific/Kiritimati",
    "posixrules",
  ],
  DateStyle: ["SQL, DMY", "German, YMD", "Postgres, MDY", "ISO, YDM"],
  IntervalStyle: ["postgres_verbose", "sql_standard", "iso_8601"],
  timezone_abbreviations: ["Australia", "India"],
  bytea_output: ["escape"],
  xmlbinary: ["hex"],
  extra_float_digits: ["-15", "3"],
  lc_numeric: ["C"],
  lc_monetary: ["C"],
  lc_messages: ["C"],
  search_path: ["", "pg_temp", "jobforge, pg_temp", "pg_temp, jobforge, public"],
  row_security: ["on"],
  check_function_bodies: ["off"],
  plan_cache_mode: ["force_custom_plan", "force_generic_plan"],
  default_transaction_isolation: ["read committed"],
  transform_null_equals: ["on"],
  array_nulls: ["off"],
  backslash_quote: ["on"],
  standard_conforming_strings: ["off"],
  escape_string_warning: ["on"],
  quote_all_identifiers: ["on"],
  enable_indexscan: ["off"],
  enable_seqscan: ["off"],
  enable_nestloop: ["off"],
  enable_sort: ["off"],
  jit: ["on"],
  work_mem: ["64kB"],
  from_collapse_limit: ["1"],
  geqo_threshold: ["2"],
  constraint_exclusion: ["off"],
  enable_partition_pruning: ["off"],
  client_min_messages: ["debug1", "error"],
  "jobforge.clock": ["infinity"],
  "app.tenant_id": ["not a uuid", ""],
};

interface Call {
  readonly as: "tenant" | "bound worker" | "worker" | "operator";
  readonly text: string;
}

const A = `'${tenantA}'`;

/** Times outside of JSON are numbers, because the session itself reads them, not JobForge. */
const calls: readonly Call[] = [
  {
    as: "tenant",
    text: `select public.jobforge_enqueue_job(${A}, 'mail', '{"a": 1.5}', p_run_at => to_timestamp(4070908800))`,
  },
  {
    as: "tenant",
    text: `select public.jobforge_enqueue_jobs(${A}, '[{"type": "mail", "tags": ["a"], "run_at": "2099-01-01T00:00:00Z"}]')`,
  },
  { as: "tenant", text: `select to_jsonb(j) from public.jobforge_list_jobs(${A}) j` },
  { as: "tenant", text: "select to_jsonb(j) from public.jobforge_jobs j order by id" },
  { as: "tenant", text: `select public.jobforge_stats(${A})` },
  {
    as: "tenant",
    text: `select public.jobforge_ensure_schedule(${A}, 'mail', 'daily', '{"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}')`,
  },
  {
    as: "tenant",
    text: `select public.jobforge_ensure_schedule(${A}, 'mail', 'every', '{"every": "90 minutes", "anchor": "2020-01-01T00:00:00Z"}')`,
  },
  {
    as: "tenant",
    text: "select to_jsonb(public.jobforge_cron_next('0 0 29 2 *', 'UTC', to_timestamp(1767225600)))",
  },
  {
    as: "tenant",
    text: "select to_jsonb(r) from public.jobforge_cron_runs('*/7 3 * * *', 'America/New_York', to_timestamp(1772841600), 5) r",
  },
  {
    as: "tenant",
    text: `select to_jsonb(u) from public.jobforge_report_usage(${A}, to_timestamp(1767225600), to_timestamp(1769904000), 'day') u`,
  },
  {
    as: "tenant",
    text: `select public.jobforge_cancel_jobs(${A}, '{"status": ["queued"], "type": "cancel.me"}')`,
  },
  { as: "bound worker", text: "select public.jobforge_maintain()" },
  { as: "bound worker", text: `select public.jobforge_heartbeat_worker('bound', '{"instance": "1"}')` },
  { as: "bound worker", text: "select public.jobforge_settle_jobs('bound', '[]', 2, '{work}')" },
  { as: "worker", text: "select public.jobforge_maintain()" },
  {
    as: "worker",
    text: `select public.jobforge_heartbeat_worker('shared', '{"instance": "1", "held": []}')`,
  },
  { as: "worker", text: "select public.jobforge_settle_jobs_text('shared', '[]', 2, '{work}')" },
  { as: "worker", text: "select to_jsonb(j) from public.jobforge_claim_jobs('shared', 2, '{work}') j" },
  {
    as: "operator",
    text: "select public.jobforge_set_limit('type', 'limited', 5, 10, '1 minute 30 seconds')",
  },
  {
    as: "operator",
    text: "select key, max_running, extract(epoch from per)::int as per from public.jobforge_list_limits()",
  },
  {
    as: "operator",
    text: `select public.jobforge_set_policy('mail', '{"retention_days": 40, "jitter": 0.25}')`,
  },
  {
    as: "operator",
    text: "select public.jobforge_set_gate('type', 'gated', true, 'why', to_timestamp(4070908800))",
  },
  { as: "operator", text: "select to_jsonb(t) from public.jobforge_list_types('1 day') t" },
];

export const settingsTour: Tour = {
  name: "settings",
  about: "random hostile session settings × ordinary calls, which must do the same as with default settings",
  async play(server, steps) {
    await using db = await cloneDatabase(server);
    // Bounds of leaves are compared as text.
    await db.query("set timezone = 'UTC'");
    const urls = await openLogins(db);
    const witness = await openAs(db, urls.worker);
    await steps.each(calls, (call) => step(db, steps, { call, url: urls[call.as], witness }));
  },
};

interface Stage {
  readonly call: Call;
  readonly url: string;
  readonly witness: TestConnection;
}

async function step(db: TestDatabase, steps: Steps, { call, url, witness }: Stage): Promise<void> {
  const { random } = steps;
  // A day passes from step to step, so that maintenance makes and drops leaves.
  const offset = `${steps.number} days`;
  for (const connection of [db, witness]) await connection.travel(offset);
  await db.query("select jobforge_enqueue_job($1, 'work', p_subject => 'same')", [tenantA]);
  const chosen = choose(random);
  const shown = `${call.as}: ${chosen.join("; ")}; ${call.text}`;
  const usual = await replyTo(db, url, [], call, offset, false);
  const hostile = await replyTo(db, url, chosen, call, offset, true);
  steps.saw(hostile.code);
  if (usual.text !== hostile.text)
    steps.violated("session settings", `${difference(usual.text, hostile.text)}`, shown);
  await requireWorking(db, steps, witness, shown);
}

function choose(random: Random): string[] {
  const names = new Set(random.some(Object.keys(settings), 1 + random.below(6)));
  // Times are what settings change most.
  if (random.chance(0.6)) names.add("TimeZone");
  if (random.chance(0.4)) names.add("DateStyle");
  return [...names].map((name) => {
    const value = pg.escapeLiteral(random.pick(settings[name] ?? [""]));
    return `select set_config('${name}', ${value}, false)`;
  });
}

/** Makes the call in a session of its own, and rolls it back unless it should stay. */
async function replyTo(
  db: TestDatabase,
  url: string,
  before: readonly string[],
  { text }: Call,
  offset: string,
  stays: boolean,
): Promise<{ readonly code: string; readonly text: string }> {
  const connection = await openAs(db, url);
  await connection.travel(offset);
  for (const statement of before) await send(connection, statement);
  await send(connection, "begin");
  const reply = await connection.query(text).then(
    (rows) => ({ code: "ok", text: normalized(rows) }),
    (error: unknown) => ({ code: codeOf(error), text: `${codeOf(error)}: ${(error as Error).message}` }),
  );
  await send(connection, stays ? "commit" : "rollback");
  await connection.close();
  return reply;
}

const instant = /\d{4,6}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)/g;

/** A result without what differs from call to call: new ids, and times near the present of the step. */
function normalized(rows: unknown): string {
  return JSON.stringify(rows)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
    .replaceAll(instant, (text) => shownTime(new Date(text.replace(" ", "T"))))
    .replaceAll(
      /\\?"(audit_id|lanes|cursor|hint|turn|made_at|floors|seq|wait_ms|run_ms|oldest_ms|queued|scheduled|running|retired|leaves|metered|forgotten|p\d\d_ms|pid)\\?":[^,}\]]*/g,
      '"$1":0',
    );
}

function shownTime(time: Date): string {
  if (Number.isNaN(time.getTime())) return "<invalid time>";
  // All steps happen within a few years after the present. Given times are outside of them, or in the past.
  const years = (time.getTime() - Date.now()) / (365.25 * 86_400_000);
  return years > -0.01 && years < 20 ? "<time>" : time.toISOString();
}

function difference(usual: string, hostile: string): string {
  let at = 0;
  while (at < usual.length && usual[at] === hostile[at]) at += 1;
  const from = Math.max(0, at - 60);
  return `the result is …${hostile.slice(from, at + 120)}, usually …${usual.slice(from, at + 120)}`;
}

/** Workers with default settings must work, and leaves must begin at midnight, UTC. */
async function requireWorking(
  db: TestDatabase,
  steps: Steps,
  witness: TestConnection,
  shown: string,
): Promise<void> {
  for (const text of [
    "select jobforge_heartbeat_worker('witness', '{\"instance\": \"1\"}')",
    "select jobforge_maintain()",
    "select jobforge_settle_jobs('witness', '[]', 5, '{work}')",
  ]) {
    const { code, received } = await send(witness, text);
    if (code !== "ok")
      steps.violated("session settings", `${text} then fails: ${received.slice(0, 200)}`, shown);
  }
  const crooked = await db.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relispartition and c.relnamespace = 'jobforge'::regnamespace
       and pg_get_expr(c.relpartbound, c.oid) like '%TO (%'
       and pg_get_expr(c.relpartbound, c.oid) !~ $1`,
    ["FROM \\('\\S+ 00:00:00\\+00'\\) TO \\('\\S+ 00:00:00\\+00'\\)"],
  );
  if (crooked.length > 0) {
    const names = crooked.map(({ name }) => name).join(", ");
    steps.violated("session settings", `leaves do not begin at midnight, UTC: ${names}`, shown);
  }
}

async function openLogins(db: TestDatabase): Promise<Readonly<Record<Call["as"], string>>> {
  const tenant = await db.createLogin("jobforge_tenant");
  const bound = await db.createLogin("jobforge_worker");
  for (const { role } of [tenant, bound])
    await db.query("select jobforge_bind_role($1, $2)", [role, tenantA]);
  await db.query("select jobforge_enqueue_job($1, 'mail', p_run_at => '2099-01-01T00:00:00Z')", [tenantA]);
  return {
    tenant: tenant.url,
    "bound worker": bound.url,
    worker: (await db.createLogin("jobforge_worker")).url,
    operator: (await db.createLogin("jobforge_operator")).url,
  };
}
