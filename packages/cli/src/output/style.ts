/** Colours, for terminals that support them. */
import { inspect } from "node:util";
import type { AttemptStatus, JobStatus, StepStatus, WorkerStatus } from "@jobforge/sdk-ts";
import type { CliProcess, OutputStream } from "../process.ts";

export const tonesInUse = [
  "red",
  "green",
  "yellow",
  "blue",
  "magenta",
  "cyan",
  "gray",
  "bold",
  "dim",
] as const;
export type Tone = (typeof tonesInUse)[number];

export type Style = (tone: Tone, text: string) => string;

/** NO_COLOR (see https://no-color.org) takes precedence, then FORCE_COLOR, then whether the stream is a terminal. */
export function styleFor(stream: OutputStream, env: CliProcess["env"]): Style {
  const colours =
    !env["NO_COLOR"] && (isSet(env["FORCE_COLOR"]) || (stream.isTTY === true && env["TERM"] !== "dumb"));
  return colours ? paint : (_, text) => text;
}

/** Replaces Node's `styleText`, which checks the real standard output instead of the given stream. */
function paint(tone: Tone, text: string): string {
  const [on, off] = inspect.colors[tone] ?? [0, 0];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0";
}

type Status = JobStatus | AttemptStatus | WorkerStatus | StepStatus;

const tones: Readonly<Record<Status, Tone>> = {
  queued: "blue",
  running: "cyan",
  succeeded: "green",
  failed: "red",
  dead: "red",
  canceled: "gray",
  lost: "magenta",
  deferred: "yellow",
  released: "gray",
  blocked: "dim",
  waiting: "yellow",
  open: "cyan",
  skipped: "gray",
  alive: "green",
  stopped: "dim",
  gone: "red",
};

/** Returns the tone for the status of a job, an attempt, a worker, a workflow or a step. */
export function toneOf(status: Status): Tone {
  // A newer database may have further statuses.
  return tones[status] ?? "bold";
}
