/** /metrics: the whole system, and the server itself. */
import { Registry } from "prom-client";
import { describe, expect, test as plain } from "vitest";
import { TimeHistogram } from "../src/metrics/histogram.ts";
import { maxSeries, Series } from "../src/metrics/series.ts";
import { appToken, sign, startServer, T, test } from "./support/server.ts";

describe("metrics", () => {
  const lines = async (response: Response): Promise<string[]> =>
    (await response.text()).split("\n").filter((line) => !line.startsWith("#"));

  test("show jobs, their waiting and running times, workers, and the server itself", async ({ http, db }) => {
    const token = await sign({ role: "jobforge_reader" });
    await http.request("/metrics", { token });
    await db.query("select jobforge_enqueue_jobs($1, $2)", [T, '[{"type":"a"},{"type":"a"},{"type":"b"}]']);
    await db.query(
      "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 1, array['b'])",
    );
    await db.query("select jobforge_heartbeat_worker('w')");
    const due = { dynamic: true, next_run_at: new Date(Date.now() - 3_600_000) };
    await db.query("select jobforge_ensure_schedule($1, 'feed', 'k', $2)", [T, JSON.stringify(due)]);
    // A finished job is counted after two seconds, so that no job is committed with an earlier time afterwards.
    const ended = 'jobforge_jobs_ended_total{type="b",status="succeeded"} 1';
    await expect
      .poll(async () => await lines(await http.request("/metrics", { token })), {
        timeout: 20_000,
        interval: 200,
      })
      .toContain(ended);
    const found = await lines(await http.request("/metrics", { token }));
    expect(found).toEqual(
      expect.arrayContaining([
        'jobforge_jobs{type="a",status="queued"} 2',
        'jobforge_jobs{type="a",status="running"} 0',
        ended,
        'jobforge_job_run_seconds_count{type="b"} 1',
        'jobforge_job_wait_seconds_count{type="b"} 1',
        'jobforge_workers{status="alive"} 1',
        'jobforge_maintenance_failures{task="jobs"} 0',
        expect.stringMatching(/^jobforge_oldest_waiting_seconds\{type="a"\} \d/),
        'jobforge_due_schedules{type="feed"} 1',
        expect.stringMatching(/^jobforge_oldest_schedule_seconds\{type="feed"\} 3\d{3}/),
        expect.stringMatching(/^jobforge_pool_connections\{state="total"\} [1-9]/),
        expect.stringMatching(/^jobforge_xmin_age_transactions \d/),
        expect.stringMatching(
          /^jobforge_http_request_seconds_count\{method="GET",route="\/metrics",status="200"\} \d/,
        ),
      ]),
    );
    expect(found.join("\n")).not.toContain(T);
  });

  test("are shown to readers, operators and callers with the secret", async ({ db }) => {
    await using http = await startServer(db, { metrics: { secret: "scrape-me" } });
    const status = async (token?: string): Promise<number> =>
      (await http.request("/metrics", { token })).status;
    expect(
      await Promise.all([status(), status("wrong"), status(await appToken(T)), status("scrape-me")]),
    ).toEqual([401, 401, 403, 200]);
    expect(await status(await sign({ role: "jobforge_operator" }))).toBe(200);
  });

  test("show how often a maintenance task has failed in a row, until it succeeds", async ({ db, http }) => {
    const token = await sign({ role: "jobforge_reader" });
    const failures = async (): Promise<string[]> => {
      const found = await lines(await http.request("/metrics", { token }));
      return found.filter((line) => line.startsWith('jobforge_maintenance_failures{task="usage"}'));
    };
    await db.query("alter table jobforge.usage rename to gone");
    for (const round of [1, 2]) {
      await db.query("select jobforge_maintain()");
      expect(await failures()).toEqual([`jobforge_maintenance_failures{task="usage"} ${round}`]);
    }
    await db.query("alter table jobforge.gone rename to usage");
    await db.query("select jobforge_maintain()");
    expect(await failures()).toEqual(['jobforge_maintenance_failures{task="usage"} 0']);
  });

  test("have tenant labels if the option is set", async ({ db }) => {
    await using http = await startServer(db, { metrics: { secret: "scrape-me", tenantLabels: true } });
    await db.query("select jobforge_enqueue_job($1, 'a')", [T]);
    const found = await lines(await http.request("/metrics", { token: "scrape-me" }));
    expect(found).toContain(`jobforge_jobs{type="a",tenant_id="${T}",status="queued"} 1`);
  });

  test("add up the reports of workers, and never fall when a worker stops", async ({ db, http }) => {
    const token = await sign({ role: "jobforge_reader" });
    const report = async (worker: string, metrics: object): Promise<unknown> =>
      await db.query("select jobforge_heartbeat_worker($1, $2)", [worker, { instance: "1", metrics }]);
    const shown = async (): Promise<string[]> => {
      const found = await lines(await http.request("/metrics", { token }));
      return found.filter((line) =>
        /^jobforge_(claim_seconds_(sum|count)|stale|handed)|^jobforge_settle.*0\.005"/.test(line),
      );
    };
    await report("old", { claim: [[100, 1]], settle: [], stale: 7, handed: 3 });
    // Counts from before the first request for metrics are left out.
    expect(await shown()).toEqual(["jobforge_stale_ends_total 0", "jobforge_handed_jobs_total 0"]);
    await report("old", { claim: [[101, 1.004]], stale: 8, handed: 4 });
    await report("new", {
      claim: [
        [0, 0],
        [2, 0.5],
      ],
      settle: [[3, 0.012]],
      stale: 1,
    });
    const grown = [
      'jobforge_settle_seconds_bucket{le="0.005"} 3',
      expect.stringMatching(/^jobforge_claim_seconds_sum 0\.504/),
      "jobforge_claim_seconds_count 3",
      "jobforge_stale_ends_total 2",
      "jobforge_handed_jobs_total 1",
    ];
    expect((await shown()).sort()).toEqual(expect.arrayContaining(grown));
    await db.query("delete from jobforge.workers where id = 'new'");
    await report("old", { claim: [[1, 0.1]], stale: "no number" });
    await report("odd", {
      claim: [[-5, 1], ["x"], null, ["1", 1]],
      settle: { a: 1 },
      stale: -1,
      handed: "x",
    });
    await report("odder", [1, 2]);
    expect((await shown()).sort()).toEqual(expect.arrayContaining(grown));
  });

  test("include the process", async ({ http }) => {
    const found = await lines(
      await http.request("/metrics", { token: await sign({ role: "jobforge_reader" }) }),
    );
    for (const name of [
      "process_cpu_seconds_total",
      "process_resident_memory_bytes",
      "nodejs_eventloop_lag_seconds",
    ])
      expect(found).toContainEqual(expect.stringMatching(new RegExp(`^${name} \\d`)));
  });
});

plain("a million measurements are added in one call", async () => {
  const registry = new Registry();
  const histogram = new TimeHistogram(registry, "t", "h", [1, 10]);
  histogram.add({ type: 'a"b' }, 1_000_000, 0.5);
  histogram.add({ type: 'a"b' }, 2, 5);
  histogram.add({ type: 'a"b' }, 1, 100);
  histogram.add({ type: "none" }, 0, 1);
  const text = await registry.metrics();
  expect(text.split("\n").filter((line) => !line.startsWith("#") && line !== "")).toEqual([
    't_bucket{le="1",type="a\\"b"} 1000000',
    't_bucket{le="10",type="a\\"b"} 1000002',
    't_bucket{le="+Inf",type="a\\"b"} 1000003',
    't_sum{type="a\\"b"} 500110',
    't_count{type="a\\"b"} 1000003',
  ]);
});

describe("the series of a metric", () => {
  const minute = 60_000;

  function series(): { series: Series; removed: string[]; dropped: string[]; pass: (ms: number) => void } {
    let now = 0;
    const removed: string[] = [];
    const dropped: string[] = [];
    const made = new Series({
      remove: (labels) => removed.push(labels["type"] ?? ""),
      drop: (reason) => dropped.push(reason),
      now: () => now,
    });
    return {
      series: made,
      removed,
      dropped,
      pass: (ms) => {
        now += ms;
      },
    };
  }

  plain("are at most a thousand; changes of further ones are counted together", () => {
    const { series: all, removed, dropped } = series();
    for (let n = 0; n < 50_000; n += 1) all.placeOf({ type: `t${n}` });
    expect(all.size).toBe(maxSeries);
    expect(removed).toEqual([]);
    expect(dropped).toHaveLength(50_000 - maxSeries);
    expect(all.placeOf({ type: "t7" })).toEqual({ type: "t7" });
    expect(all.placeOf({ type: "new", tenant_id: T })).toEqual({ type: "*", tenant_id: "*" });
    expect(all.placeOf({ type: "*" })).toEqual({ type: "*" });
  });

  plain("make room for a new one when they have not changed for ten minutes, the oldest first", () => {
    const { series: all, removed, pass } = series();
    for (let n = 0; n < maxSeries; n += 1) all.placeOf({ type: `t${n}` });
    all.placeOf({ type: "t0" });
    pass(10 * minute);
    expect(all.placeOf({ type: "new" })).toEqual({ type: "new" });
    expect(removed).toEqual(["t1"]);
    expect(all.size).toBe(maxSeries);
  });

  plain("are removed when they have not changed for a day", () => {
    const { series: all, removed, dropped, pass } = series();
    all.placeOf({ type: "daily" });
    all.placeOf({ type: "gone" });
    pass(23 * 60 * minute);
    all.placeOf({ type: "daily" });
    pass(60 * minute);
    all.placeOf({ type: "daily" });
    expect(removed).toEqual(["gone"]);
    expect(dropped).toEqual(["removed"]);
    expect(all.size).toBe(1);
  });
});

test("metrics of nine thousand types are a thousand series and one for the rest", async ({ http, db }) => {
  const token = await sign({ role: "jobforge_reader" });
  await db.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 't' || n)) from generate_series(1, 9000) n))`,
    [T],
  );
  const text = await (await http.request("/metrics", { token })).text();
  const found = text.split("\n").filter((line) => /^jobforge_jobs\{.*status="queued"/.test(line));
  expect(found).toHaveLength(1001);
  expect(found).toContain('jobforge_jobs{type="*",status="queued"} 8000');
});
