import { migrate } from "@jobforge/sql";
import type { TestConnection } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { outcome } from "../support/failures.ts";
import { outdate, refresh, test } from "../support/migrations.ts";

const tenant = "11111111-1111-4111-8111-111111111111";

describe("a refresh of functions and views", () => {
  test("overwrites changes that were made by hand", async ({ db }) => {
    await db.query(
      "create or replace function jobforge.caller() returns text language sql stable as $$ select 'nobody' $$",
    );
    await db.query("grant select on jobforge_jobs to public");
    expect(await refresh(db)).toMatchObject({ refreshed: true });
    expect(await db.value("select jobforge.caller() = session_user")).toBe(true);
    expect(await db.value("select has_table_privilege('jobforge_reader', 'jobforge_jobs', 'select')")).toBe(
      false,
    );
  });

  test("drops an old signature, so that calls are not ambiguous", async ({ db }) => {
    await db.query(
      `create function public.jobforge_cancel_job(p_job_id uuid) returns jsonb language sql as $$ select '"old"'::jsonb $$;
       alter function public.jobforge_cancel_job(uuid) owner to jobforge_owner`,
    );
    await refresh(db);
    expect(
      await db.query(
        "select oid::regprocedure::text as f from pg_catalog.pg_proc where proname = 'jobforge_cancel_job'",
      ),
    ).toEqual([{ f: "jobforge_cancel_job(uuid,uuid)" }]);
  });

  test("drops a private function that the kernel no longer has", async ({ db }) => {
    await db.query(
      `create function jobforge.gone() returns int language sql as 'select 1';
       alter function jobforge.gone() owner to jobforge_owner`,
    );
    await refresh(db);
    expect(await db.value("select to_regprocedure('jobforge.gone()')")).toBeNull();
  });

  test("keeps functions that do not belong to the kernel, whatever their names", async ({ db }) => {
    await db.query("create function public.jobforge_mine() returns int language sql as 'select 1'");
    await db.query("create function public.theirs() returns int language sql as 'select 1'");
    await db.query("alter function public.theirs() owner to jobforge_owner");
    await refresh(db);
    expect(await db.value("select jobforge_mine() + public.theirs()")).toBe(2);
  });

  test("keeps a user's objects that depend on the API", async ({ db }) => {
    await db.query("create view public.my_jobs as select id, status from jobforge_jobs");
    await db.query(
      "create materialized view public.my_counts as select type, count(*)::int as n from jobforge_jobs group by 1",
    );
    await db.query(
      `create view public.my_list as select l.id from jobforge_list_jobs('${tenant}') l where l.status = 'queued'`,
    );
    await db.query(
      `create function public.my_enqueue() returns jsonb language sql begin atomic select jobforge_enqueue_job('${tenant}', 'mail'); end`,
    );
    await db.query(
      "create table public.my_default (id int, job jsonb default jobforge_enqueue_job($1, 'mail'))".replace(
        "$1",
        `'${tenant}'`,
      ),
    );
    await refresh(db);
    await db.query("select my_enqueue()");
    await db.query("insert into my_default values (1)");
    await db.query("refresh materialized view my_counts");
    expect(await db.value("select count(*)::int from my_jobs")).toBe(2);
    expect(await db.value("select count(*)::int from my_list")).toBe(2);
    expect(await db.value("select n from my_counts")).toBe(2);
  });

  test("changes nothing when a user's view depends on an old signature", async ({ db }) => {
    await db.query(
      `create function public.jobforge_cancel_job(p_job_id uuid) returns jsonb language sql as $$ select '"old"'::jsonb $$;
       alter function public.jobforge_cancel_job(uuid) owner to jobforge_owner;
       create view public.my_view as select jobforge_cancel_job(null::uuid) as answer`,
    );
    await outdate(db);
    expect(await outcome(migrate({ database: db.url }))).toBe("2BP01");
    expect(await db.value("select answer from my_view")).toBe("old");
    expect(
      await db.value("select checksum from jobforge.repeatables where name = 'functions/shared/errors.sql'"),
    ).toBe("of an older file");
  });
});

describe("workers during a refresh", () => {
  const claim = (worker: TestConnection) =>
    worker.client.query<{ id: string }>({
      name: "claim",
      text: "select id from jobforge_claim_jobs($1, 5)",
      values: ["w1"],
    });
  const complete = (worker: TestConnection, id: string) =>
    worker.client.query({
      name: "complete",
      text: "select jobforge_complete_job($1, $2, $3) ->> 'status'",
      values: [id, "w1", "succeeded"],
    });

  test("keep their named statements", async ({ db }) => {
    const worker = await db.connect((await db.createLogin("jobforge_worker")).url);
    await db.query("select jobforge_enqueue_job($1, 'mail') from generate_series(1, 6)", [tenant]);
    const first = (await claim(worker)).rows;
    await complete(worker, first[0]?.id ?? "");
    await refresh(db);
    await complete(worker, first[1]?.id ?? "");
    expect((await claim(worker)).rows).toHaveLength(1);
    expect(
      await db.query("select status, count(*)::int as n from jobforge_jobs group by 1 order by 1"),
    ).toEqual([
      { status: "running", n: 4 },
      { status: "succeeded", n: 2 },
    ]);
  });

  test("keep their sessions when a column is added to the table", async ({ db }) => {
    const worker = await db.connect((await db.createLogin("jobforge_worker")).url);
    await db.query("select jobforge_enqueue_job($1, 'mail') from generate_series(1, 6)", [tenant]);
    expect((await claim(worker)).rows).toHaveLength(5);
    await db.query("alter table jobforge.queue add column appended text");
    await refresh(db);
    expect((await claim(worker)).rows).toHaveLength(1);
  });

  test("finish every job while refreshes run", async ({ db }) => {
    const jobs = 300;
    await db.query("select jobforge_enqueue_job($1, 'mail') from generate_series(1, $2)", [tenant, jobs]);
    const { url } = await db.createLogin("jobforge_worker");
    const work = async (): Promise<number> => {
      const worker = await db.connect(url);
      let done = 0;
      for (let batch = (await claim(worker)).rows; batch.length > 0; batch = (await claim(worker)).rows) {
        for (const { id } of batch) await complete(worker, id);
        done += batch.length;
      }
      return done;
    };
    const upgrade = async (): Promise<void> => {
      for (let release = 0; release < 3; release++) await refresh(db);
    };
    const [first, second] = await Promise.all([work(), work(), upgrade()]);
    expect(first + second).toBe(jobs);
    expect(await db.query("select status, count(*)::int as n from jobforge_jobs group by 1")).toEqual([
      { status: "succeeded", n: jobs },
    ]);
  });
});
