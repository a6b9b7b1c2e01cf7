/** One run: builds the world, injects faults, lets all jobs finish, and checks every promise. */
import { setTimeout as sleep } from "node:timers/promises";
import { checks, findViolations } from "./checks/index.ts";
import { Conductor, type Step } from "./conductor.ts";
import type { FaultKind } from "./faults/fault.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { historyOf } from "./history.ts";
import { loadJournals } from "./load-journals.ts";
import type { Violation } from "./violation.ts";
import { World } from "./world.ts";

export interface RunOptions {
  readonly folder: string;
  readonly seed: number;
  readonly minutes: number;
  readonly kinds: readonly FaultKind[];
  readonly workers: number;
  readonly producers: number;
  readonly pairs: number;
  readonly version?: 15 | 18 | undefined;
  /** See `WorldOptions`. */
  readonly isPlain?: boolean | undefined;
  /** Called with messages for the user during the run. */
  onProgress(message: string): void;
}

export interface RunResult {
  readonly seed: number;
  readonly minutes: number;
  readonly figures: Figures;
  readonly steps: readonly Step[];
  readonly checks: readonly { readonly name: string; readonly promise: string }[];
  readonly violations: readonly Violation[];
  /** The histories of the first jobs with a violation. */
  readonly histories: readonly string[];
}

/** How long the remaining jobs may take to finish after the last fault. */
const drainMs = 120_000;
const maxHistories = 5;

export async function run(options: RunOptions): Promise<RunResult> {
  const { onProgress, seed } = options;
  const world = new World(options);
  world.onViolation = ({ check, what }) => onProgress(`✗ ${check}: ${what}`);
  try {
    onProgress(`seed ${seed} · starting a server and creating a database`);
    await world.build();
    world.populate();
    await waitForWork(world);
    const began = performance.now();
    const conductor = new Conductor(world, {
      seed,
      kinds: options.kinds,
      forMs: options.minutes * 60_000,
      pairs: options.pairs,
      onStep: (step) => onProgress(describe(step, performance.now() - began)),
    });
    await conductor.run();
    onProgress("faults are over · waiting for all jobs to finish");
    await drain(world);
    onProgress("checking");
    await check(world);
    const figures = await figuresOf(world, conductor, (performance.now() - began) / 60_000);
    return {
      seed,
      minutes: options.minutes,
      figures,
      steps: conductor.steps,
      checks: checks.map(({ name, promise }) => ({ name, promise })),
      violations: world.violations,
      histories: await histories(world),
    };
  } finally {
    await world.remove();
  }
}

/** Resolves when all workers are registered in the database. */
async function waitForWork({ direct, workers, violations }: World): Promise<void> {
  while ((await direct.value<number>("select count(*)::int from jobforge.workers")) < workers.length) {
    if (violations.length > 0) throw new Error(violations[0]?.what);
    await sleep(50);
  }
}

/** Stops producers and schedules, waits until all jobs have finished, stops the workers, and completes maintenance. */
async function drain(world: World): Promise<void> {
  const { direct, producers, workers } = world;
  for (const child of producers) child.signal("SIGTERM");
  // Schedules are ended, not disabled: disabling would remove their queued runs.
  await direct.rows(
    "select jobforge_update_schedule(tenant_id, type, key, jsonb_build_object('ends_at', clock_timestamp())) from jobforge.schedules",
  );
  await Promise.all(producers.map(({ ended }) => ended));
  const until = performance.now() + drainMs;
  while (
    performance.now() < until &&
    (await direct.value<number>(
      "select ((select count(*) from jobforge.live_rows) + (select count(*) from jobforge.wakeups))::int",
    )) > 0
  ) {
    await sleep(100);
  }
  for (const { child } of workers) child.signal("SIGTERM");
  for (const { child } of workers) {
    const { code, signal } = await child.ended;
    if (code !== 0)
      world.violated(
        "processes",
        `${child.name} did not shut down cleanly: ${signal ?? code}\n${child.lines.join("\n")}`,
      );
  }
  for (let times = 0; times < 20; times += 1) await direct.rows("select jobforge_maintain(1000)");
}

async function check(world: World): Promise<void> {
  await loadJournals(world.direct, world.journals);
  await world.direct.rows("analyze");
  for (const each of checks) world.violations.push(...(await findViolations(world.direct, each)));
  const logged = world.server.errorsLogged();
  for (const [code, times] of Object.entries(logged)) {
    // Internal errors, corrupted data, and deadlocks, which the lock rule prevents.
    if (/^XX|^58|^40P01/.test(code)) world.violated("server log", `${code} was logged ${times} times`);
  }
}

async function histories({ violations, direct }: World): Promise<string[]> {
  const jobs = new Set(violations.flatMap(({ job }) => (job === undefined ? [] : [job])));
  const found: string[] = [];
  for (const job of [...jobs].slice(0, maxHistories)) found.push(await historyOf(direct, job));
  return found;
}

function describe({ faults, details, holdMs, flowMs, last, cpu }: Step, sinceMs: number): string {
  const flow = flowMs === undefined ? "NO FLOW" : `flows after ${(flowMs / 1000).toFixed(1)} s, ${last} last`;
  const busy = cpu === undefined ? "" : ` · CPU ${Math.round(cpu * 100)} %`;
  const what = faults.map((name, n) => `${name} (${details[n]})`).join(" + ");
  return `${(sinceMs / 1000).toFixed(0).padStart(5)} s · ${what} · ${(holdMs / 1000).toFixed(1)} s · ${flow}${busy}`;
}
