/** Colours, where they help: in a terminal that wants them. */
import { styleText } from "node:util";
import type { CliProcess, OutputStream } from "../process.ts";

export type Tone = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "gray" | "bold" | "dim";

export type Style = (tone: Tone, text: string) => string;

/** See https://no-color.org: NO_COLOR wins, then FORCE_COLOR, then whether it is a terminal. */
export function styleFor(stream: OutputStream, env: CliProcess["env"]): Style {
  const colours =
    !env["NO_COLOR"] && (isSet(env["FORCE_COLOR"]) || (stream.isTTY === true && env["TERM"] !== "dumb"));
  return colours ? (tone, text) => styleText(tone, text) : (_, text) => text;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0";
}

const tones: Readonly<Record<string, Tone>> = {
  queued: "blue",
  running: "cyan",
  succeeded: "green",
  failed: "red",
  dead: "red",
  canceled: "gray",
  lost: "magenta",
  deferred: "yellow",
  released: "gray",
  alive: "green",
  gone: "red",
};

/** The tone of a status, of jobs, attempts and workers. */
export function toneOf(status: string): Tone {
  return tones[status] ?? "bold";
}
