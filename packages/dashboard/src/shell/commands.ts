/** What can be written into the palette as a sentence: `pause mail.send 30m the mail server is down`. */
import { type Details, pause, resume } from "../api/gates.ts";
import { say, sayProblem } from "../ui/Toasts.tsx";

export interface Command {
  readonly name: string;
  /** A type, or `all`. */
  readonly what: string;
  readonly run: () => Promise<void>;
}

const minutesOf: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1440 };

/** The command that a text means, or undefined. A type may be any word; `all` is everything. */
export function commandOf(text: string): Command | undefined {
  const [, verb, what = "", length, unit = "", reason = ""] =
    /^(pause|resume)\s+(\S+)(?:\s+(\d+)([mhd])\b)?\s*(.*)$/i.exec(text.trim()) ?? [];
  if (verb === undefined) return undefined;
  const thing = what === "all" ? "everything" : `the type ${what}`;
  if (verb.toLowerCase() === "resume")
    return { what, name: `Resume ${thing}`, run: () => setGate(what, false, `Resumed ${thing}`) };
  const end = length === undefined ? {} : { until: untilOf(Number(length) * (minutesOf[unit] ?? 1)) };
  const why = reason.replace(/^reason\s+/i, "");
  const details = [length && `for ${length}${unit}`, why && `because ${why}`].filter(Boolean).join(", ");
  return {
    what,
    name: `Pause ${thing}${details === "" ? "" : ` ${details}`}`,
    run: () => setGate(what, true, `Paused ${thing}`, { ...end, ...(why !== "" && { reason: why }) }),
  };
}

function untilOf(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString();
}

/** A pause can be undone from the note that says it. */
async function setGate(what: string, paused: boolean, done: string, details: Details = {}): Promise<void> {
  const place = { scope: what === "all" ? ("all" as const) : ("type" as const), key: what };
  try {
    await (paused ? pause(place, details) : resume(place));
    const undo = { label: "Undo", run: () => void setGate(what, false, "Resumed") };
    say(done, paused ? undo : undefined);
  } catch (error) {
    sayProblem(error);
  }
}
