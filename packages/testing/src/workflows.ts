/** Runs a workflow to its end inside a test, and travels in time where it waits. */
import {
  JobForge,
  type JobHandler,
  type StartOptions,
  type WorkflowDefinition,
  type WorkflowDetails,
  type WorkflowInput,
  type WorkflowOutput,
} from "@jobforge/sdk-ts";
import type { Logger } from "@jobforge/worker-ts";
import type { TestDatabase } from "./database.ts";
import { drain } from "./jobs.ts";

export interface TestSignal {
  readonly name: string;
  readonly payload?: unknown;
}

export type RunWorkflowOptions = StartOptions & {
  readonly handlers: readonly JobHandler[];
  /** Signals that are sent at the start, in this order. The workflow keeps each until a step takes it. */
  readonly signals?: readonly TestSignal[] | undefined;
  /** Receives the log lines of the runs. Default: none. */
  readonly logger?: Logger | undefined;
};

/** The number of travels after which a workflow is assumed to have no end. */
const maxTravels = 10_000;

/**
 * Starts a workflow and runs its steps until it has ended. Where nothing is due, the clock of the runs moves to what
 * comes next: a delay, a retry, the timeout of a signal, a deadline. Returns the output. Rejects as `result()` does if
 * the workflow fails, and also if it waits for something that no time brings: a signal, or a handler. The clock is that
 * of the whole database, so run one workflow at a time.
 */
export async function runWorkflow<W extends WorkflowDefinition>(
  db: Pick<TestDatabase, "url" | "urlAt" | "value">,
  workflow: W,
  input: WorkflowInput<W>,
  options: RunWorkflowOptions,
): Promise<WorkflowOutput<W>> {
  const { handlers, signals = [], logger, ...startOptions } = options;
  const quietly = logger === undefined ? {} : { logger };
  await using forge = new JobForge({ database: db.url });
  const started = await forge.start(workflow, input, startOptions);
  for (const { name, payload } of signals) await started.signal(name, payload);
  let offsetMs = 0;
  let looks = 0;
  for (let travels = 0; travels < maxTravels; travels += 1) {
    await using moved = new JobForge({ database: db.urlAt(`${offsetMs} milliseconds`) });
    await drain(moved, handlers, quietly);
    const now = await started.get();
    if (now === undefined || now.status !== "running") return await started.result();
    const { unfinished, nextMs } = await agendaOf(db, offsetMs);
    // A claim does a part of what is to do, so this time may need several.
    looks = unfinished ? looks + 1 : 0;
    if (looks > 0 && looks < maxLooks) continue;
    if (nextMs === null) throw standsStill(now);
    offsetMs = nextMs;
    looks = 0;
  }
  throw new Error(
    `The workflow has not ended after ${maxTravels} travels in time: does a handler defer itself?`,
  );
}

/** How often a test looks at one time again, because steps are to be started that no claim has started yet. */
const maxLooks = 100;

interface Agenda {
  /** Whether claims have something left to do at this time. */
  readonly unfinished: boolean;
  /** How far away from now the next thing is that time brings; null if there is none. */
  readonly nextMs: number | null;
}

async function agendaOf(db: Pick<TestDatabase, "value">, offsetMs: number): Promise<Agenda> {
  // One millisecond more, because the database reads its clock a moment later.
  return await db.value<Agenda>(
    `select json_build_object(
       'unfinished', exists (select from jobforge.wakeups w where w.due_at <= t.now),
       'nextMs', 1 + ceil(extract(epoch from least(
         (select min(q.run_at) from jobforge.queue q where q.run_at > t.now),
         (select min(w.due_at) from jobforge.wakeups w where w.due_at > t.now)
       ) - clock_timestamp()) * 1000))
     from (select clock_timestamp() + $1 * interval '1 millisecond' as now) t`,
    [offsetMs],
  );
}

function standsStill({ name, waits, counts }: WorkflowDetails): Error {
  const [wait] = waits;
  if (wait !== undefined)
    return new Error(
      `${name} waits for the signal ${wait.signal}. Pass it: { signals: [{ name: "${wait.signal}" }] }`,
    );
  const steps = Object.entries(counts).map(([status, number]) => `${number} ${status}`);
  return new Error(`${name} stands still (${steps.join(", ")}). Does each of its steps have a handler?`);
}
