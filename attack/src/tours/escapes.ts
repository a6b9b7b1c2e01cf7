/** Attacks that are a series of statements of one login. */
import type { Random } from "../../../sql/test/support/random.ts";
import { tenantViews } from "../../../sql/test/support/views.ts";
import type { CallerName } from "../scene.ts";
import type { Holdings } from "../tenants.ts";

export interface Situation {
  readonly random: Random;
  readonly victim: Holdings;
  /** The attacker's login. */
  readonly role: string;
  readonly seed: number;
}

export interface Escape {
  readonly name: string;
  readonly as: CallerName;
  statements(situation: Situation): string[];
}

const otherRoles: readonly string[] = [
  "jobforge_owner",
  "jobforge_view",
  "jobforge_operator",
  "jobforge_worker",
  "jobforge_app",
  "jobforge_reader",
  "postgres",
  "pg_read_all_data",
  "pg_execute_server_program",
];

/** A function that shows its argument to the caller. It claims to cost nothing, so that it is evaluated first. */
const leak = (schema: string): string =>
  `create function ${schema}.leak(p text) returns boolean language plpgsql cost 0.0000001
   as $$ begin raise notice '%', p; return true; end $$`;

/** False versions of functions that the kernel calls, by signature. */
const fakes: readonly (readonly [signature: string, returns: string, body: string])[] = [
  ["caller()", "text", "'jobforge_operator'"],
  ["caller_is(text)", "boolean", "true"],
  ["caller_tenant()", "uuid", "'22222222-2222-4222-8222-222222222222'::uuid"],
  ["bound_tenant()", "uuid", "null::uuid"],
  ["visible_from()", "uuid", "'00000000-0000-0000-0000-000000000000'::uuid"],
  ["visible_to()", "uuid", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"],
  ["require_tenant(uuid)", "void", "null::void"],
  ["require_operator()", "void", "null::void"],
  ["current_setting(text)", "text", "'jobforge_operator'"],
  ["current_setting(text, boolean)", "text", "'22222222-2222-4222-8222-222222222222'"],
  ["pg_has_role(text, text, text)", "boolean", "true"],
  ["now()", "timestamptz", "'2000-01-01'::timestamptz"],
  ["uuid_eq(uuid, uuid)", "boolean", "true"],
  ["uuid_ge(uuid, uuid)", "boolean", "true"],
  ["uuid_le(uuid, uuid)", "boolean", "true"],
];

const kernelTables = [
  "queue",
  "runs",
  "archive",
  "payloads",
  "role_bindings",
  "tenants",
  "tokens",
  "audit_log",
  "schedules",
];

function plant(schema: string, { random }: Situation): string[] {
  return [
    ...random
      .some(fakes, 8)
      .map(
        ([signature, returns, body]) =>
          `create function ${schema}.${signature} returns ${returns} language sql as $$ select ${body} $$`,
      ),
    `create function ${schema}.always(uuid, uuid) returns boolean language sql as 'select true'`,
    ...["=", ">=", "<="].map(
      (sign) =>
        `create operator ${schema}.${sign} (leftarg = uuid, rightarg = uuid, function = ${schema}.always)`,
    ),
    ...random
      .some(kernelTables, 4)
      .map((table) => `create table ${schema}.${table} (role text, tenant_id uuid)`),
  ];
}

const becoming = (as: CallerName, name: string, statement: (role: string) => string): Escape => ({
  name,
  as,
  statements: ({ random }) => random.some(otherRoles, 5).map(statement),
});

const single = (as: CallerName, name: string, statements: (situation: Situation) => string[]): Escape => ({
  name,
  as,
  statements,
});

const become: readonly Escape[] = (["tenant A", "bound worker", "plain", "app"] as const).flatMap((as) => [
  becoming(as, "set role", (role) => `set role ${role}`),
  becoming(as, "set session authorization", (role) => `set session authorization ${role}`),
  becoming(as, "set_config role", (role) => `select set_config('role', '${role}', false)`),
  becoming(as, "grant itself a role", (role) => `grant ${role} to current_user`),
]);

const settings: readonly Escape[] = [
  single("tenant A", "alter role set", ({ role, victim }) => [
    `alter role ${role} set role = 'jobforge_operator'`,
    `alter role ${role} set app.tenant_id = '${victim.tenant}'`,
    `alter role ${role} set row_security = off`,
    `alter role ${role} set session_preload_libraries = 'x'`,
    `alter role ${role} superuser`,
    `alter role ${role} bypassrls`,
    `alter role ${role} createrole`,
  ]),
  single("tenant A", "forged settings", ({ victim }) => [
    `set app.tenant_id = '${victim.tenant}'`,
    `set request.jwt.claims = '{"role": "jobforge_operator", "tenant_id": "${victim.tenant}"}'`,
    "set jobforge.clock_offset = '100 years'",
  ]),
  single("unbound tenant", "forged settings of a login without a tenant", ({ victim }) => [
    `set app.tenant_id = '${victim.tenant}'`,
    `set request.jwt.claims = '{"tenant_id": "${victim.tenant}"}'`,
  ]),
  single("bound worker", "forged settings of a bound worker", ({ victim }) => [
    `set app.tenant_id = '${victim.tenant}'`,
    `set request.jwt.claims = '{"tenant_id": "${victim.tenant}"}'`,
    `select * from jobforge_settle_jobs('intruder', '[]', 10, null, '${victim.tenant}')`,
  ]),
  ...["off", "on"].map((value) =>
    single("tenant A", `row security ${value}`, () => [
      `set row_security = ${value}`,
      "set enable_seqscan = off",
      "set session_replication_role = replica",
      "set allow_system_table_mods = on",
    ]),
  ),
];

const foreignCode: readonly Escape[] = [
  ...["lair", "pg_temp"].map((schema) =>
    single("tenant A", `kernel names in ${schema}`, (situation) => [
      ...plant(schema, situation),
      `set search_path = ${schema}, pg_catalog, public`,
    ]),
  ),
  single("plain", "kernel names of a login without roles", (situation) => [
    ...plant("lair", situation),
    "set search_path = lair, jobforge, pg_catalog, public",
  ]),
  single("tenant A", "replaced objects", () => [
    "create or replace function public.jobforge_stats(p_tenant_id uuid, p_since timestamptz) returns jsonb language sql as 'select null::jsonb'",
    "create or replace function jobforge.caller_tenant() returns uuid language sql as 'select null::uuid'",
    "create or replace view public.jobforge_jobs as select 1 as id",
    "alter function jobforge.visible_from() reset all",
    "alter view public.jobforge_jobs set (security_barrier = false)",
    "alter view public.jobforge_jobs owner to current_user",
    "drop view public.jobforge_jobs cascade",
    "create policy open_to_all on jobforge.queue using (true)",
    "alter table jobforge.queue no force row level security",
    "create trigger spy after insert on jobforge.queue execute function suppress_redundant_updates_trigger()",
    "create event trigger spy on ddl_command_end execute function lair.spy()",
  ]),
  single("tenant A", "unbinding", ({ role, victim }) => [
    `select jobforge_bind_role('${role}', null)`,
    `select jobforge_bind_role('${role}', '${victim.tenant}')`,
    "delete from jobforge.role_bindings",
    `update jobforge.role_bindings set tenant_id = '${victim.tenant}'`,
    `alter role ${role} rename to somebody`,
    "reset role",
    "reset session authorization",
    "discard all",
  ]),
];

const oracles: readonly Escape[] = tenantViews.flatMap((view) => [
  single("tenant A", `a leaky function over ${view}`, ({ random }) => [
    leak("pg_temp"),
    "create operator lair.@@@ (leftarg = text, rightarg = text, function = texteq, restrict = eqsel)",
    random.pick([
      `select count(*) from ${view} v where pg_temp.leak(v::text)`,
      `select count(*) from ${view} v where pg_temp.leak(v.tenant_id::text) and v.tenant_id is not null`,
      `select v.* from ${view} v order by pg_temp.leak(v::text)`,
      `select max(v::text) over (order by pg_temp.leak(v::text)) from ${view} v`,
      `select count(*) from ${view} v join lateral (select pg_temp.leak(v::text)) l on true`,
    ]),
  ]),
  single("tenant A", `errors as an oracle over ${view}`, ({ random, victim }) => [
    random.pick([
      `select count(*) from ${view} v where v::text::integer > 0 and v.tenant_id = '${victim.tenant}'`,
      `select count(*) from ${view} v where 1 / (case v.tenant_id when '${victim.tenant}' then 0 else 1 end) = 1`,
      `select (v::text)::jsonb from ${view} v where v.tenant_id = '${victim.tenant}'`,
      `select ('{' || v::text || '}')::uuid from ${view} v where v.tenant_id <> '11111111-1111-4111-8111-111111111111'`,
    ]),
  ]),
]);

/** Definitions and statistics may show the structure of tables, never a value of a row. */
const statistics: readonly Escape[] = [
  single("tenant A", "statistics", () => [
    "select * from pg_stats where schemaname = 'jobforge'",
    "select * from pg_stats_ext",
    "select * from pg_statistic",
    "select query from pg_stat_activity",
    "select * from pg_prepared_statements",
    "select pg_read_file('postgresql.conf')",
    "select lo_import('/etc/passwd')",
    "copy jobforge.queue to program 'cat'",
    "create extension if not exists dblink",
    "explain (analyze, verbose) select * from jobforge_jobs",
  ]),
];

export const escapes: readonly Escape[] = [...become, ...settings, ...foreignCode, ...oracles, ...statistics];
