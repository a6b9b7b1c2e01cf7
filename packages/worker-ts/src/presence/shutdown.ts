/**
 * How a worker ends. It stops claiming and hands back the jobs that have not started. Heartbeats go on while handlers
 * finish. When their time is over, or after a second signal, they are aborted. Then their ends are settled, and
 * the worker closes.
 */
import { exitDelayMs, hurriedGraceMs, lastSettleMs } from "../defaults.ts";
import type { Engine } from "../engine.ts";

export interface ShutdownOptions {
  readonly graceMs: number;
  readonly abortGraceMs: number;
  /** Resolves when the caller no longer wants to wait. */
  readonly hurried: Promise<void>;
}

export async function shutDown(engine: Engine, options: ShutdownOptions): Promise<void> {
  engine.log.info({ running: engine.running }, "Worker stops: no new jobs, running jobs may finish");
  const drained = engine.drain().then(() => "drained" as const);
  const hurried = options.hurried.then(() => "hurried" as const);
  const first = await within(options.graceMs, [drained, hurried]);
  if (first !== "drained") {
    const graceMs =
      first === "hurried" ? Math.min(hurriedGraceMs, options.abortGraceMs) : options.abortGraceMs;
    engine.log.warn({ running: engine.running }, "Worker stops: aborting the jobs that still run");
    engine.abort(graceMs);
    const second = await within(graceMs + lastSettleMs, first === "hurried" ? [drained] : [drained, hurried]);
    if (second === "hurried") {
      engine.abort(0);
      await within(hurriedGraceMs, [drained]);
    }
  }
  await engine.close();
  engine.log.info({}, "Worker stopped");
}

/** The first of the promises that resolves, or undefined when none does in time. */
async function within<T>(ms: number, promises: readonly Promise<T>[]): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([...promises, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Starts the worker, waits for SIGTERM or SIGINT, and stops it. A second signal hurries. Also resolves when `ended`
 * does, because the program itself has stopped the worker.
 */
export async function runUntilSignal(
  start: () => Promise<void>,
  stop: () => Promise<void>,
  hurry: () => void,
  ended: () => Promise<void>,
): Promise<void> {
  let stopped: Promise<void> | undefined;
  let signaled: () => void = () => undefined;
  const signal = new Promise<void>((resolve) => {
    signaled = resolve;
  });
  const onSignal = (): void => {
    if (stopped === undefined) {
      stopped = stop();
      signaled();
    } else hurry();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  try {
    const starting = start();
    const ending = ended();
    await starting;
    await Promise.race([signal, ending]);
    await stopped;
  } finally {
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
  }
  // After a signal the process must end, even if something unrelated to the worker keeps it alive. A program that has
  // stopped the worker without a signal decides by itself.
  if (stopped !== undefined) setTimeout(() => process.exit(), exitDelayMs).unref();
}
