/** Handlers that several tests share. */
import { defineJob, type JobHandler, typed } from "@jobforge/sdk-ts";
import { Happening } from "./happening.ts";

/** Resolves when the signal is aborted, to its reason. */
export function abortOf(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}

export interface StuckHandler {
  readonly handler: JobHandler;
  /** Happens when a job gets stuck. */
  readonly stuck: Happening;
  /** Lets the stuck jobs finish. */
  readonly gate: Happening;
}

/** A handler for jobs of `enqueueMany`: the jobs numbered up to `fast` return at once, the others wait for the gate. */
export function stuckAfter(type: string, fast: number): StuckHandler {
  const [stuck, gate] = [new Happening(), new Happening()];
  const handler = defineJob({ type, input: typed<{ n: number }>() }).handle(async ({ n }) => {
    if (n <= fast) return;
    stuck.now();
    await gate.once();
  });
  return { handler, stuck, gate };
}
