/**
 * How a worker ends. It stops claiming and hands back what has not started; heartbeats go on while handlers finish; when their time
 * is up, or when told to hurry, they are aborted; what they did is settled; then it leaves.
 */
import type { Engine } from "../engine.ts";

/** What settling may take at the very end, when the database answers at all. */
const FLUSH_MS = 5_000;
/** Whoever asks twice does not want to wait. */
const HURRIED_GRACE_MS = 1_000;
/** After a signal a process must end, also when something keeps it alive that has nothing to do with the worker. */
const LEAVE_MS = 5_000;

export interface ShutdownOptions {
  readonly graceMs: number;
  readonly abortGraceMs: number;
  /** Resolves when nobody wants to wait any longer. */
  readonly hurried: Promise<void>;
}

export async function shutDown(engine: Engine, options: ShutdownOptions): Promise<void> {
  engine.log.info({ running: engine.running }, "Worker stops: no new jobs, those that run may finish");
  const drained = engine.drain().then(() => "drained" as const);
  const hurried = options.hurried.then(() => "hurried" as const);
  const first = await within(options.graceMs, [drained, hurried]);
  if (first !== "drained") {
    const graceMs =
      first === "hurried" ? Math.min(HURRIED_GRACE_MS, options.abortGraceMs) : options.abortGraceMs;
    engine.log.warn({ running: engine.running }, "Worker stops: aborting what still runs");
    engine.abort(graceMs);
    const second = await within(graceMs + FLUSH_MS, first === "hurried" ? [drained] : [drained, hurried]);
    if (second === "hurried") {
      engine.abort(0);
      await within(HURRIED_GRACE_MS, [drained]);
    }
  }
  await engine.close();
  engine.log.info({}, "Worker stopped");
}

/** What comes first, or undefined when nothing does in time. */
async function within<T>(ms: number, answers: readonly Promise<T>[]): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([...answers, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Starts, waits for SIGTERM or SIGINT, and stops. A second signal hurries. Comes back as well when `ended` does: somebody else stopped it. */
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
  // Whoever stopped it without a signal decides about the process.
  if (stopped !== undefined) setTimeout(() => process.exit(), LEAVE_MS).unref();
}
