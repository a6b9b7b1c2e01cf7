/** A worker that has run for a long time needs no more memory than one that has just started. */
import { expect } from "vitest";
import { startFixture } from "./support/child.ts";
import { enqueueMany } from "./support/jobs.ts";
import { test } from "./support/work.ts";

/** A million jobs take minutes: JOBFORGE_WORKER_JOBS=1000000. */
const jobs = Number(process.env["JOBFORGE_WORKER_JOBS"] ?? 50_000);

test(
  `a worker that drains ${jobs.toLocaleString("en")} jobs keeps its memory flat`,
  async ({ db }) => {
    for (let left = jobs; left > 0; left -= 50_000) await enqueueMany(db, "noop", Math.min(left, 50_000), 10);
    const child = startFixture("memory.ts", ["--expose-gc"], {
      DATABASE_URL: db.url,
      JOBS: String(jobs),
      LOG_LEVEL: "warn",
    });
    const { claimed, heap } = await child.logged(({ message }) => message === "Drained");
    const [early = 0, late = 0] = heap as number[];
    console.log(
      `heap after a quarter ${Math.round(early / 1024)} kB, at the end ${Math.round(late / 1024)} kB`,
    );
    expect(claimed).toBe(jobs);
    // One kilobyte kept for each job would be forty times as much.
    expect(late - early).toBeLessThan(Math.max(1_000_000, early / 10));
    expect((await child.ended).code).toBe(0);
  },
  60_000 + jobs,
);
