/**
 * When an uncaught error is about to end the process, the log names the job whose handler caused it. Its run fails with
 * the error, the other runs are released, and the workers say that they stop: otherwise all these jobs would wait for
 * their leases to run out. Then the process ends as Node would have ended it: with the trace, and code 1.
 *
 * Node's rules stay as they are for an application that handles such errors itself: it has a listener for
 * `uncaughtException`, so the process goes on, and a log line names the job. A listener for `unhandledRejection`
 * handles rejections before they get here.
 */
import { inspect } from "node:util";
import { describeError, isError } from "@jobforge/sdk-ts/internal";
import { crashMs } from "../defaults.ts";
import type { Engine } from "../engine.ts";
import { printable } from "../reporting/human.ts";
import { currentCall } from "../running/current.ts";
import type { Run } from "../running/run.ts";

/** The number of jobs that one line lists. */
const maxJobsListed = 20;

const engines = new Set<Engine>();
let isDying = false;

/** Handles crashes of the process for this engine, until `leaveProcess`. */
export function guardProcess(engine: Engine): void {
  if (engines.size === 0) {
    process.on("uncaughtException", onUncaught);
    process.on("exit", onExit);
  }
  engines.add(engine);
}

export function leaveProcess(engine: Engine): void {
  if (!engines.delete(engine) || engines.size > 0) return;
  process.off("uncaughtException", onUncaught);
  process.off("exit", onExit);
}

function onUncaught(error: unknown): void {
  const isHandled = process.listenerCount("uncaughtException") > 1;
  reportUncaught(error, isHandled);
  if (isHandled || isDying) return;
  isDying = true;
  void die(currentCall()?.runs ?? [], error);
}

function reportUncaught(error: unknown, isHandled: boolean): void {
  const consequence = isHandled ? "the application handles it" : "the process ends";
  const described = describeError(error);
  const call = currentCall();
  for (const run of call?.runs ?? []) {
    const when = run.state === "running" ? "in the handler of this job" : "of a job that had already ended";
    // The run of a process that ends fails with the same error, and that line has the stack.
    const stack = isHandled || run.state !== "running";
    call?.log.failure("error", run, described, `Uncaught error ${when}: ${consequence}`, { stack });
  }
  if (call !== undefined) return;
  for (const { log, openRuns } of engines) {
    const fields = { ...log.errorFields(described), running: openRuns.length, jobs: listed(openRuns) };
    log.error(fields, `Uncaught error, of no known job: ${consequence}`);
  }
}

/** Settles and releases what it can in a short time. Then ends the process, whatever happens before. */
async function die(culprits: readonly Run[], error: unknown): Promise<void> {
  try {
    const crashes = [...engines].map((engine) => engine.crash(culprits, error));
    await Promise.race([
      Promise.allSettled(crashes),
      new Promise((resolve) => {
        setTimeout(resolve, crashMs);
      }),
    ]);
    const { stderr } = process;
    const shown = traceOf(error);
    stderr.write(`${stderr.isTTY ? printable(shown) : shown}\n\nNode.js ${process.version}\n`);
  } finally {
    process.exit(1);
  }
}

/** The error as Node prints it. An error may have code that formats it, and that code may throw. */
function traceOf(error: unknown): string {
  try {
    return isError(error) ? inspect(error) : `Uncaught ${inspect(error)}`;
  } catch {
    const { name, message, stack } = describeError(error);
    return stack ?? `Uncaught ${name}: ${message}`;
  }
}

/** A handler or other code called `process.exit()`. Nothing can be settled then, but the log says what was lost. */
function onExit(code: number): void {
  if (isDying) return;
  const call = currentCall();
  for (const run of call?.runs ?? []) {
    call?.log.job("error", run, { exit_code: code }, "The handler of this job ended the process");
  }
  for (const { log, openRuns } of engines) {
    if (openRuns.length === 0) continue;
    const fields = { exit_code: code, running: openRuns.length, jobs: listed(openRuns) };
    log.error(fields, "The process exits while jobs run: they are retried when their leases have run out");
  }
}

function listed(runs: readonly Run[]): object[] {
  return runs.slice(0, maxJobsListed).map(({ id, type, attempt }) => ({ id, type: type.name, attempt }));
}
