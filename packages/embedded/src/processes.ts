/** Guarantees that a process is recognised by more than its id: process ids are reused, start times are not. */

import { spawnSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque. Undefined if the system does not report it (Windows). Then only the process id is compared. */
  readonly startedAt: string | undefined;
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startedAt: startTime(pid) };
}

/** Whether exactly this process is alive, and not a later one with the same process id. */
export function isSameProcessAlive({ pid, startedAt }: ProcessIdentity): boolean {
  if (!isAlive(pid)) return false;
  const now = startedAt === undefined ? undefined : startTime(pid);
  return now === undefined || now === startedAt;
}

/** A zombie counts as dead, because in a container an orphan may never be reaped. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return linuxStat(pid)?.state !== "Z";
}

function startTime(pid: number): string | undefined {
  if (process.platform === "linux") {
    const ticks = linuxStat(pid)?.startTicks;
    return ticks === undefined ? undefined : `${bootId()}:${ticks}`;
  }
  return ps(pid, "lstart");
}

/**
 * Returns the arguments a process was started with. They are a single string if the system reports only the joined
 * line, and undefined if it reports nothing.
 */
export function commandLine(pid: number): string[] | undefined {
  if (process.platform === "linux") {
    try {
      // Not /proc/PID/exe: for another user's process, reading that link needs a capability that containers lack.
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
    } catch {
      return undefined;
    }
  }
  const joined = ps(pid, "command");
  return joined === undefined ? undefined : [joined];
}

/** Returns the working directory of a process, if the system reports it. */
export function workingDirectory(pid: number): string | undefined {
  try {
    return process.platform === "linux" ? readlinkSync(`/proc/${pid}/cwd`) : undefined;
  } catch {
    return undefined;
  }
}

function linuxStat(pid: number): { state: string; startTicks: string } | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command name is in parentheses and may itself contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, startTicks] = [fields[0], fields[19]];
    return state === undefined || startTicks === undefined ? undefined : { state, startTicks };
  } catch {
    return undefined;
  }
}

/** Start ticks count from boot, so the identity must change with each boot. */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

function ps(pid: number, column: "lstart" | "command"): string | undefined {
  if (process.platform === "win32") return undefined;
  const { PATH } = process.env;
  const result = spawnSync("ps", ["-ww", "-o", `${column}=`, "-p", String(pid)], {
    encoding: "utf8",
    env: { PATH, LC_ALL: "C", TZ: "UTC" },
  });
  const text = result.status === 0 ? result.stdout.trim() : "";
  return text === "" ? undefined : text;
}
