/**
 * A new column of `queue`, `runs` or `archive` must be added in several places: every insert that moves a job between
 * the tables, and the views that show it. Postgres accepts a statement that leaves a column out, and the value is lost.
 * These tests compare the column lists in the sources with the catalog, so that a forgotten column fails here.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";

const jobTables = ["queue", "runs", "live_rows", "archive"] as const;
type JobTable = (typeof jobTables)[number];

interface Exception {
  readonly table: JobTable;
  readonly columns: readonly string[];
  /** The sources that may leave the columns out, as paths below `sql`. */
  readonly in: RegExp;
  readonly because: string;
}

const newJobs = /^functions\/(enqueue|schedules|workflows)\//;

const exceptions: readonly Exception[] = [
  {
    table: "queue",
    columns: ["attempts", "uncounted", "failures", "losses", "started_at", "progress", "error", "cost_cents"],
    in: newJobs,
    because: "a new job has had no run",
  },
  {
    table: "queue",
    columns: ["parked_in"],
    in: /^functions\//,
    because: "no limit has looked at a job that enters the queue",
  },
  {
    table: "runs",
    columns: ["heartbeat_at"],
    in: /^functions\//,
    because: "a run that starts has had no heartbeat",
  },
  {
    table: "runs",
    columns: ["handed"],
    in: /^functions\/claim\//,
    because: "a job that is claimed was not handed over",
  },
  {
    table: "runs",
    columns: [
      "idempotency_key",
      "dedupe_key",
      "schedule_id",
      "scheduled_for",
      "progress",
      "error",
      "cost_cents",
      "step_id",
      "keep_days",
    ],
    in: /^functions\/enqueue\/hand_over/,
    because: "only new jobs without keys are handed over",
  },
  {
    table: "queue",
    columns: ["seq"],
    in: /^functions\/(enqueue\/enqueue_new|schedules\/|workflows\/)/,
    because: "the identity numbers jobs that are inserted in the order of their call",
  },
  {
    table: "queue",
    columns: ["idempotency_key", "dedupe_key"],
    in: /^functions\/(enqueue\/enqueue_new|schedules\/|workflows\/)/,
    because: "these inserts are for jobs without keys",
  },
  {
    table: "queue",
    columns: ["schedule_id", "scheduled_for"],
    in: /^functions\/(enqueue|workflows)\//,
    because: "a job that a caller or a workflow enqueues is no run of a schedule",
  },
  {
    table: "queue",
    columns: ["step_id", "keep_days"],
    in: /^functions\/(enqueue|schedules)\//,
    because: "only workflows start the jobs of their steps",
  },
  {
    table: "queue",
    columns: ["expires_at", "traceparent"],
    in: /^functions\/schedules\//,
    because: "a schedule has no such option",
  },
  {
    table: "queue",
    columns: ["failures", "losses"],
    in: /^functions\/steer\//,
    because: "a job that is rescheduled from the archive starts its backoff again",
  },
  {
    table: "archive",
    columns: ["last_run", "worker_id", "result_id", "result", "artifact_ref", "handed"],
    in: /^functions\/settle\/finish_queued/,
    because: "no run finished the job",
  },
  {
    table: "live_rows",
    columns: [
      "seq",
      "lane",
      "failures",
      "losses",
      "budget",
      "parked_in",
      "counted",
      "bound",
      "handed",
      "keep_days",
    ],
    in: /^views\/jobs/,
    because: "only the kernel uses these columns",
  },
  {
    table: "archive",
    columns: ["seq", "failures", "budget", "keep_days"],
    in: /^views\/jobs/,
    because: "only the kernel uses these columns",
  },
  {
    table: "archive",
    columns: ["worker_id", "result", "artifact_ref", "handed"],
    in: /^views\/jobs/,
    because: "the views of attempts and results show these columns",
  },
];

/** A statement or a view that must name every column of a table. */
interface Place {
  readonly file: string;
  readonly what: string;
  readonly table: JobTable;
  readonly columns: readonly string[];
}

const root = new URL("../../", import.meta.url);

function insertsInSources(): Place[] {
  return readdirSync(new URL("functions/", root), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".sql"))
    .map((name) => `functions/${name.replaceAll("\\", "/")}`)
    .sort()
    .flatMap((file) => insertsIn(file, readFileSync(new URL(file, root), "utf8")));
}

function insertsIn(file: string, text: string): Place[] {
  const code = text.replaceAll(/--.*$/gm, "");
  return [
    ...code.matchAll(/insert\s+into\s+(?:jobforge\.)?(queue|runs|archive)\b([^(]*)(?:\(([^)]*)\))?/g),
  ].map(([, table, between = "", list = ""]) => ({
    file,
    what: `insert into ${table}`,
    table: jobTables.find((name) => name === table) ?? "archive",
    // Without a list of columns, what follows the table's name is the source of the rows.
    columns: between.trim() === "" ? list.split(",").map((column) => column.trim()) : [],
  }));
}

/** The view whose text the database completes with that of live_rows, as a subquery `j`. */
function liveJobs(): Place {
  const file = "views/jobs.sql";
  const text = readFileSync(new URL(file, root), "utf8");
  const [, list = ""] = /view jobforge\.live_jobs as\n([\s\S]*?)from \(%s\) j/.exec(text) ?? [];
  const columns = [...list.matchAll(/\bj\.(\w+)/g)].map(([, column = ""]) => column);
  return { file, what: "view live_jobs", table: "live_rows", columns };
}

async function viewsOf(db: TestDatabase): Promise<Place[]> {
  return await db.query<Place & Record<string, unknown>>(
    `select 'views/jobs.sql' as file, 'view ' || v.name as what, v.source as table,
       array(
         select a.attname::text
         from pg_rewrite r
         join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
         join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
         where r.ev_class = ('jobforge.' || v.name)::regclass and d.refobjid = ('jobforge.' || v.source)::regclass) as columns
     from (values ('live_rows', 'queue'), ('live_rows', 'runs'), ('ended_jobs', 'archive')) v(name, source)`,
  );
}

async function columnsOf(db: TestDatabase, table: JobTable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped
     order by attnum`,
    [`jobforge.${table}`],
  );
  return rows.map((row) => row.name);
}

function allows({ table, columns, in: where }: Exception, place: Place, column: string): boolean {
  return table === place.table && where.test(place.file) && columns.includes(column);
}

/** What is forgotten, one sentence for each place and column. */
async function forgotten(db: TestDatabase): Promise<string[]> {
  const columns = {
    queue: await columnsOf(db, "queue"),
    runs: await columnsOf(db, "runs"),
    live_rows: await columnsOf(db, "live_rows"),
    archive: await columnsOf(db, "archive"),
  };
  return [...insertsInSources(), liveJobs(), ...(await viewsOf(db))].flatMap((place) =>
    columns[place.table]
      .filter((column) => !place.columns.includes(column))
      .filter((column) => !exceptions.some((exception) => allows(exception, place, column)))
      .map((column) => `${place.file}: "${place.what}" leaves out the column ${place.table}.${column}`),
  );
}

test("every column of the queue, the runs and the archive is in each insert and view, or is a named exception", async ({
  db,
}) => {
  expect(await forgotten(db)).toEqual([]);
});

test("the inserts are found: jobs are enqueued, scheduled, claimed, settled and rescheduled", () => {
  const folders = (table: JobTable): string[] =>
    insertsInSources()
      .filter((place) => place.table === table)
      .map((place) => place.file.split("/")[1] ?? "");
  expect(new Set(folders("queue"))).toEqual(
    new Set(["enqueue", "schedules", "settle", "steer", "workflows"]),
  );
  expect(new Set(folders("runs"))).toEqual(new Set(["claim", "enqueue"]));
  expect(new Set(folders("archive"))).toEqual(new Set(["settle"]));
});

test("every exception is in use", async ({ db }) => {
  const places = [...insertsInSources(), liveJobs(), ...(await viewsOf(db))];
  const unused = exceptions.flatMap((exception) =>
    exception.columns
      .filter(
        (column) =>
          !places.some((place) => allows(exception, place, column) && !place.columns.includes(column)),
      )
      .map((column) => `${exception.table}.${column}, because ${exception.because}`),
  );
  expect(unused).toEqual([]);
});

describe("a column that is added to one table only", () => {
  const insertsInto = (table: JobTable): number =>
    insertsInSources().filter((place) => place.table === table).length;

  test("is reported for every insert into the queue, and for the view", async ({ db }) => {
    await db.query("alter table jobforge.queue add column extra text");
    const found = await forgotten(db);
    expect(found).toHaveLength(insertsInto("queue") + 1);
    expect(found).toContain(
      'functions/settle/end_runs.sql: "insert into queue" leaves out the column queue.extra',
    );
    expect(found).toContain('views/jobs.sql: "view live_rows" leaves out the column queue.extra');
  });

  test("is reported for every insert into the runs, and for the view", async ({ db }) => {
    await db.query("alter table jobforge.runs add column extra text");
    const found = await forgotten(db);
    expect(found).toHaveLength(insertsInto("runs") + 1);
    expect(found).toContain('views/jobs.sql: "view live_rows" leaves out the column runs.extra');
  });

  test("is reported for every insert into the archive, and for the view", async ({ db }) => {
    await db.query("alter table jobforge.archive add column extra text");
    const found = await forgotten(db);
    expect(found).toHaveLength(insertsInto("archive") + 1);
    expect(found).toContain('views/jobs.sql: "view ended_jobs" leaves out the column archive.extra');
  });
});

test("an insert without a list of columns leaves out every column", () => {
  const [place] = insertsIn("functions/x.sql", "insert into queue select * from moved;");
  expect(place).toMatchObject({ table: "queue", columns: [] });
});
