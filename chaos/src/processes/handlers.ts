/** The handlers of a run. The payload of a job decides what its handler does. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JobContext, JobHandler } from "@jobforge/sdk-ts";
import type { ClientBase } from "pg";
import {
  beat,
  child,
  effect,
  flowItem,
  flowSaga,
  flowSum,
  keyed,
  limited,
  parent,
  plain,
  probeOf,
  sagaParts,
  sagaSignal,
  sagaTimeoutMs,
  serial,
  type Work,
} from "../jobs.ts";

async function work({ plan = [], ms = 0 }: Work, job: JobContext): Promise<void> {
  const step = plan[Math.min(job.attempt, plan.length) - 1] ?? "succeed";
  if (step === "progress") await job.progress({ half: true });
  await sleep(ms, undefined, { signal: job.signal });
  job.cost(1);
  if (step === "fail") throw new Error("The plan of this job says that it fails");
  if (step === "refuse") job.fail("The plan of this job says that it fails without a retry");
  if (step === "defer") job.defer({ inMs: 300 });
}

export function handlersOf(worker: string): JobHandler[] {
  return [
    ...[plain, serial, limited, child, beat, keyed, flowItem, probeOf(worker)].map((definition) =>
      definition.handle(work),
    ),
    parent.handle(async (input, job) => {
      await work(input, job);
      for (let n = 0; n < (input.children ?? 0); n += 1) job.enqueue(child, { parent: job.id, n, ms: 5 });
    }),
    flowSum.handle(async (_, job) => {
      let good = 0;
      for await (const { status } of job.results(flowItem, "items")) good += status === "succeeded" ? 1 : 0;
      job.cost(1);
      return { good };
    }),
    flowSaga.handle(async (_, job) => {
      const notes = await job.step("note", () => 1);
      const calls = Array.from({ length: sagaParts }, () => job.call(flowItem, { ms: 20 }));
      const parts = await job.all(calls, { settled: true });
      await job.waitFor(sagaSignal, { timeoutMs: sagaTimeoutMs });
      await job.sleep(200);
      return { notes: notes + (await job.step("note", () => 1)), parts: parts.length };
    }),
    effect.handle(async (input, job) => {
      await work(input, job);
      await job.transaction(async (client) => {
        const values = [job.id, job.attempt];
        await (client as ClientBase).query(
          "insert into chaos.effects (job_id, attempt) values ($1, $2)",
          values,
        );
      });
    }),
  ];
}
