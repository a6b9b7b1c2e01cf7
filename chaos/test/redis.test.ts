/** A short run on Redis: nothing is lost when workers are killed and Redis crashes. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findRedis } from "../../test/redis.ts";
import { runOnRedis } from "../src/redis/run.ts";

test.skipIf((await findRedis()) === undefined)(
  "every job on Redis succeeds once although workers are killed and Redis crashes",
  { timeout: 300_000 },
  async () => {
    const log: string[] = [];
    const result = await runOnRedis({
      folder: mkdtempSync(join(tmpdir(), "jobforge-chaos-redis-test-")),
      seed: 5,
      faults: 4,
      workers: 2,
      onProgress: (message) => log.push(message),
    });
    expect(result.violations, log.join("\n")).toEqual([]);
    expect(result.faults).toEqual({ "worker-kill": 2, "redis-crash": 2 });
    expect(result.executions).toBeGreaterThanOrEqual(result.jobs);
  },
);
