/**
 * The journal of a process on disk. Each line is written to the file before the process continues, so it survives a
 * SIGKILL, and it can be written while the database is down. Times come from the machine's monotonic clock, which all
 * processes share and no fault changes.
 */
import { openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

export interface Entry {
  readonly event: "start" | "end" | "kept" | "stale" | "key" | "acknowledged" | "canceled";
  readonly job?: string;
  readonly attempt?: number;
  /** How a handler ended, the reply of the kernel, or the key. */
  readonly what?: string;
}

export interface Written extends Entry {
  readonly who: string;
  readonly process: number;
  readonly at: number;
}

/** The current time in milliseconds, on a clock that never goes back. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function openJournal(folder: string, who: string): (entry: Entry) => void {
  const file = openSync(join(folder, `${who}-${process.pid}.jsonl`), "a");
  return (entry) => {
    writeSync(file, `${JSON.stringify({ ...entry, who, process: process.pid, at: monotonicMs() })}\n`);
  };
}

/** Reads the journals of all processes. Ignores a line that is incomplete because its process was killed. */
export function readJournals(folder: string): Written[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n").flatMap(parsed));
}

function parsed(line: string): Written[] {
  try {
    return [JSON.parse(line) as Written];
  } catch {
    return [];
  }
}
