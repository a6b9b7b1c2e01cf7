/**
 * Chaos on Redis: real workers and a real Redis that syncs every write (appendfsync always). Workers are killed, and
 * Redis is killed and restarted. Then every job that was acknowledged must have succeeded, once, by the record of Redis
 * and by the journal of the workers.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { BullForge, type EnqueuedBullJob } from "@jobforge/bullmq";
import { type Random, randomFrom } from "../../../sql/test/support/random.ts";
import { startRedis } from "../../../test/redis.ts";
import { handledJob } from "./jobs.ts";

export interface RedisRunOptions {
  readonly folder: string;
  readonly seed: number;
  /** The number of faults, alternately a kill of a worker and a crash of Redis. */
  readonly faults: number;
  readonly workers: number;
  readonly onProgress: (message: string) => void;
}

export interface RedisRunResult {
  readonly jobs: number;
  readonly executions: number;
  /** Executions that a kill has cut off. */
  readonly lost: number;
  readonly faults: Readonly<Record<"worker-kill" | "redis-crash", number>>;
  readonly violations: readonly string[];
}

const tenantId = "11111111-1111-4111-8111-111111111111";
const jobsPerFault = 40;
const patience = { timeoutMs: 120_000 };

export async function runOnRedis(options: RedisRunOptions): Promise<RedisRunResult> {
  const { seed, onProgress, workers } = options;
  const random = randomFrom(seed);
  const journal = join(options.folder, "journal");
  await using redis = await startRedis({ fsync: "always" });
  const processes = Array.from({ length: workers }, () => startWorker(redis.url, journal));
  const faults = { "worker-kill": 0, "redis-crash": 0 };
  const jobs: EnqueuedBullJob<typeof handledJob>[] = [];
  const forge = new BullForge({ redis: redis.url, leaseMs: 2000 });
  try {
    for (let fault = 0; fault < options.faults; fault += 1) {
      jobs.push(...(await enqueueSome(forge, random)));
      await sleep(300 + random.below(500));
      if (fault % 2 === 0) {
        const place = random.below(workers);
        processes[place]?.kill("SIGKILL");
        processes[place] = startWorker(redis.url, journal);
        faults["worker-kill"] += 1;
        onProgress(`Killed worker ${place}`);
      } else {
        await redis.kill();
        // Enqueues of this time wait until Redis is available again.
        const waiting = enqueueSome(forge, random);
        await sleep(random.below(1000));
        await redis.restart();
        jobs.push(...(await waiting));
        faults["redis-crash"] += 1;
        onProgress("Killed Redis and started it again");
      }
    }
    onProgress(`Waiting for ${jobs.length} jobs`);
    const ends = await Promise.allSettled(jobs.map((job) => job.result(patience)));
    return { ...judge(jobs, ends, journal), faults };
  } finally {
    for (const child of processes) child.kill("SIGKILL");
    await forge.close();
  }
}

function startWorker(redis: string, journal: string): ChildProcess {
  const file = fileURLToPath(new URL("./worker.ts", import.meta.url));
  const env = { ...process.env, LOG_LEVEL: "silent" };
  return spawn(process.execPath, ["--import", "tsx", file, redis, journal], { env, stdio: "ignore" });
}

async function enqueueSome(forge: BullForge, random: Random): Promise<EnqueuedBullJob<typeof handledJob>[]> {
  const made = Array.from({ length: jobsPerFault }, () => ({
    job: handledJob,
    input: { workMs: random.below(60), fails: random.below(10) === 0 ? 2 : 0 },
    delayMs: random.below(5) === 0 ? 200 : 0,
  }));
  return await forge.enqueueMany(made, { tenantId });
}

interface Entry {
  readonly what: "started" | "succeeded";
  readonly id: string;
  readonly attempt: number;
}

function judge(
  jobs: readonly EnqueuedBullJob[],
  ends: readonly PromiseSettledResult<unknown>[],
  journal: string,
): Omit<RedisRunResult, "faults"> {
  const lines = existsSync(journal) ? readFileSync(journal, "utf8").split("\n") : [];
  const entries = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Entry);
  const started = entries.filter(({ what }) => what === "started");
  const succeeded = entries.filter(({ what }) => what === "succeeded");
  const violations: string[] = [];
  for (const [place, end] of ends.entries()) {
    const { id = "" } = jobs[place] ?? {};
    if (end.status === "rejected") violations.push(`Job ${id} did not succeed: ${end.reason}`);
    else if (!started.some((entry) => entry.id === id && entry.attempt === end.value))
      violations.push(`Job ${id} has the result of attempt ${end.value}, which no worker has started`);
    if (succeeded.filter((entry) => entry.id === id).length > 1)
      violations.push(`Redis confirmed two successes of job ${id}`);
  }
  const runs = started.map(({ id, attempt }) => `${id}/${attempt}`);
  if (new Set(runs).size < runs.length) violations.push("Two workers have started the same attempt of a job");
  return { jobs: jobs.length, executions: runs.length, lost: runs.length - succeeded.length, violations };
}
