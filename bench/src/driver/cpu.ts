/** Reads the CPU seconds that processes have used from /proc. Undefined on systems without /proc, such as macOS. */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  /** CPU seconds of the process itself. */
  readonly own: number;
  /** CPU seconds of its children that have exited and that it has waited for. */
  readonly ended: number;
}

/** Linux reports hundredths of a second here, independent of the kernel's own clock rate. */
const ticksPerSecond = 100;

/**
 * Reads a line of /proc/PID/stat. The name may contain spaces and brackets, so fields are counted from the last
 * bracket.
 */
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

/** The CPU seconds of processes and all their descendants. Exited descendants count if their parent waited for them. */
export function cpuOfTrees(roots: readonly number[], all: readonly ProcessTimes[]): number {
  const wanted = new Set(roots);
  let known = 0;
  // Children may precede their parents in the list, so repeat until no new process is found.
  while (known !== wanted.size) {
    known = wanted.size;
    for (const { pid, parent } of all) if (wanted.has(parent)) wanted.add(pid);
  }
  return all.filter(({ pid }) => wanted.has(pid)).reduce((sum, { own, ended }) => sum + own + ended, 0);
}

/** The CPU seconds that process trees have used so far. */
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
      // The process has exited since the folder was read.
    }
  }
  return names.length === 0 ? undefined : found;
}
