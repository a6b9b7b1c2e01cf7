/** CPU seconds that processes used, from /proc. Undefined where there is none, as on a laptop that is no Linux. */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  /** Of the process itself, and of children that have ended and were waited for. */
  readonly own: number;
  readonly ended: number;
}

/** Linux counts in hundredths of a second, whatever the kernel's own clock is. */
const ticksPerSecond = 100;

/** Reads a line of /proc/PID/stat. The name may hold blanks and brackets: fields are counted from behind its last bracket. */
export function readStat(line: string): ProcessTimes {
  const open = line.indexOf("(");
  const close = line.lastIndexOf(")");
  const fields = line.slice(close + 2).split(" ");
  const seconds = (from: number): number =>
    (Number(fields[from]) + Number(fields[from + 1])) / ticksPerSecond;
  return {
    pid: Number(line.slice(0, open - 1)),
    name: line.slice(open + 1, close),
    parent: Number(fields[1]),
    own: seconds(11),
    ended: seconds(13),
  };
}

/** Of a process, what it started and what that started; those that have ended included, as long as somebody waited for them. */
export function cpuOfTrees(roots: readonly number[], all: readonly ProcessTimes[]): number {
  const wanted = new Set(roots);
  let known = 0;
  // Children may come before their parents in the list: go over it until nothing is new.
  while (known !== wanted.size) {
    known = wanted.size;
    for (const { pid, parent } of all) if (wanted.has(parent)) wanted.add(pid);
  }
  return all.filter(({ pid }) => wanted.has(pid)).reduce((sum, { own, ended }) => sum + own + ended, 0);
}

/** The CPU seconds of process trees so far. */
export function cpuSeconds(roots: readonly number[]): number | undefined {
  const all = processes();
  return all === undefined ? undefined : cpuOfTrees(roots, all);
}

export function processes(): readonly ProcessTimes[] | undefined {
  let names: string[];
  try {
    names = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return undefined;
  }
  const found: ProcessTimes[] = [];
  for (const name of names) {
    try {
      found.push(readStat(readFileSync(`/proc/${name}/stat`, "utf8")));
    } catch {
      // It has ended since the folder was read.
    }
  }
  return names.length === 0 ? undefined : found;
}
