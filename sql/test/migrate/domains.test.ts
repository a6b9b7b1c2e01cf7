/** Domains check values and give identifiers the collation "C". Clients see base types only. */
import { migrate } from "@jobforge/sql";
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import { describe, expect, inject } from "vitest";
import { outcome } from "../support/failures.ts";
import { test } from "../support/migrations.ts";

const tenant = "11111111-1111-4111-8111-111111111111";

/** Values that each domain refuses. A domain without an entry has no rule. */
const refused: Readonly<Record<string, readonly string[]>> = {
  type_name: ["''", "'  '", "repeat('x', 201)", "'send mail'", "'-x'", "'ähnlich'", "'a*'", "E'a\\n'"],
  key_text: ["''", "repeat('ä', 513)"],
  worker_name: ["''", "repeat('x', 1025)"],
  finite_time: ["'infinity'", "'-infinity'"],
  run_count: ["-1"],
  run_budget: ["0"],
  attempt_number: ["0"],
  shelf_days: ["0"],
  job_state: ["'queued'"],
  run_status: ["'canceled'"],
  finished_status: ["'running'"],
  finish_reason: ["'because'"],
  archive_branch: ["'archive'"],
  schedule_kind: ["'once'"],
  overlap_rule: ["'all'"],
  missed_rule: ["'queue'"],
  schedule_status: ["'canceled'"],
  schedule_run_status: ["'dead'"],
  gate_scope: ["'key'"],
  limit_scope: ["'all'"],
  workflow_status: ["'dead'"],
  step_kind: ["'loop'"],
  token_role: ["'jobforge_owner'"],
  word_list: ["array['']", "array[null::text]", "array[repeat('x', 4001)]"],
};

test("every domain with a rule refuses a value that breaks it, and accepts null", async ({ db }) => {
  const domains = await db.query<{ name: string }>(
    `select t.typname as name from pg_type t
     where t.typnamespace = 'jobforge'::regnamespace and exists (select from pg_constraint o where o.contypid = t.oid)`,
  );
  expect(new Set(domains.map((row) => row.name))).toEqual(new Set(Object.keys(refused)));
  for (const [domain, values] of Object.entries(refused)) {
    for (const value of values)
      expect(await outcome(db.query(`select (${value})::jobforge.${domain}`)), `${domain}: ${value}`).toBe(
        "23514",
      );
    expect(await outcome(db.query(`select null::jobforge.${domain}`)), domain).toBe("accepted");
  }
});

test("a job that breaks the rule of a column is refused, also by a direct insert", async ({ db }) => {
  const insert = `insert into jobforge.queue
    (id, tenant_id, lane, type, state, max_attempts, budget, run_at, created_at, updated_at)
    values (gen_random_uuid(), $1, uuid_hash_extended($1, 0), 'mail', $2, 1, 1, $3, now(), now())`;
  expect(await outcome(db.query(insert, [tenant, "ready", "2030-01-01Z"]))).toBe("accepted");
  expect(await outcome(db.query(insert, [tenant, "queued", "2030-01-01Z"]))).toBe("23514");
  expect(await outcome(db.query(insert, [tenant, "ready", "infinity"]))).toBe("23514");
});

test("the views and functions that clients see use no domain", async ({ db }) => {
  const domains = await db.query<{ shown: string }>(
    `select format('%s.%s', a.attrelid::regclass, a.attname) as shown
     from pg_attribute a
     join pg_class c on c.oid = a.attrelid
     join pg_type t on t.oid = a.atttypid
     where c.relkind = 'v' and c.relname like 'jobforge\\_%' and t.typtype = 'd'
     union all
     select p.oid::regprocedure::text
     from pg_proc p
     join pg_type t on t.oid = p.prorettype or t.oid = any (coalesce(p.proallargtypes, p.proargtypes))
     where p.proname like 'jobforge\\_%' and t.typtype = 'd'`,
  );
  expect(domains).toEqual([]);
});

describe("identifiers", () => {
  test("have the collation C in every index", async ({ db }) => {
    const others = await db.query(
      `select distinct i.indexrelid::regclass::text as index, k.oid::regcollation::text as collation
       from pg_index i
       join pg_class c on c.oid = i.indrelid
       cross join lateral unnest(i.indcollation) k(oid)
       where c.relnamespace = 'jobforge'::regnamespace and k.oid not in (0, '"C"'::regcollation)`,
    );
    expect(others).toEqual([]);
  });

  test("sort in the same order in a database with other rules", async ({ empty }) => {
    await using icu = await icuDatabase(empty);
    await migrate({ database: icu.url });
    await icu.query("select jobforge_enqueue_job($1, t, p_dedupe_key => 'k') from unnest($2::text[]) t", [
      tenant,
      ["alpha", "Beta", "_a", "beta"],
    ]);
    expect(await icu.value("select 'alpha' < 'Beta'")).toBe(true);
    const types = await icu.query<{ type: string }>("select type from jobforge_list_types()");
    expect(types.map((row) => row.type)).toEqual(["Beta", "_a", "alpha", "beta"]);
    expect(await icu.value("select count(*)::int from jobforge_claim_jobs('w1')")).toBe(4);
    expect(
      await icu.value("select count(*)::int from jobforge_jobs where type = 'Beta' and locked_by = 'w1'"),
    ).toBe(1);
  });
});

/** An empty database that compares texts by the rules of a language. */
async function icuDatabase(neighbour: TestDatabase): Promise<TestDatabase> {
  const template = `${neighbour.name}_icu`;
  await neighbour.query(
    `create database ${template} template template0 encoding 'UTF8' locale 'C' locale_provider icu icu_locale 'en-US'`,
  );
  try {
    return await cloneDatabase({ ...inject("server"), template });
  } finally {
    await neighbour.query(`drop database ${template}`);
  }
}
