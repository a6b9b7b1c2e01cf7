/** Checks of the operation: partitions, maintenance, workers, types without a worker, runs that do not end. */
import type { TypeInfo } from "@jobforge/sdk-ts";
import { count, span } from "../output/values.ts";
import type { Check } from "./check.ts";
import { notAllowed } from "./check.ts";

const dayMs = 86_400_000;

export const partitions: Check = {
  name: "partitions",
  run: async ({ health }) => {
    if (health === undefined) return notAllowed;
    const now = Date.parse(health.now);
    const behind = health.leaves.filter((leaf) => Date.parse(leaf.ahead_to) < now + dayMs);
    const advice = [
      "Nothing is lost: until then finished jobs are stored in default partitions.",
      "Workers create partitions. Without workers, run: select jobforge_maintain();",
    ].join(" ");
    if (behind.length > 0 || health.lacksShelf)
      return {
        verdict: "warning",
        message: health.lacksShelf
          ? "A policy sets a retention time that has no partitions yet."
          : `Partitions of ${behind.map((leaf) => `${leaf.branch}_${leaf.keep_days}`).join(", ")} end within a day.`,
        advice,
        details: health.leaves,
      };
    if (health.overdueLeaves > 0)
      return {
        verdict: "warning",
        message: `${count(health.overdueLeaves, "partition")} should have been dropped over a day ago.`,
        advice:
          "A long transaction may block it (see the check xmin), or no worker runs: select jobforge_maintain();",
      };
    return { verdict: "ok", message: "Partitions are created in advance, and old ones are dropped." };
  },
};

const maintenanceAllowedMs = 10 * 60_000;

export const maintenance: Check = {
  name: "maintenance",
  run: async ({ health }) => {
    if (health === undefined) return notAllowed;
    const failed = Object.entries(health.failedTasks);
    if (failed.length > 0)
      return {
        verdict: "problem",
        message: `Maintenance fails: ${failed.map(([task, { error }]) => `${task} (${error})`).join(", ")}.`,
        advice: [
          "Workers go on, but this task is not done. Repair the cause (see the check drift),",
          "then run: select jobforge_maintain();",
        ].join(" "),
        details: health.failedTasks,
      };
    const last = health.maintainedAt?.["jobs"];
    const idleMs = last === undefined ? undefined : Date.parse(health.now) - Date.parse(last);
    if (idleMs !== undefined && idleMs <= maintenanceAllowedMs)
      return { verdict: "ok", message: `Maintenance last ran ${span(Math.max(0, idleMs))} ago.` };
    return {
      verdict: "warning",
      message:
        idleMs === undefined ? "Maintenance has never run." : `Maintenance last ran ${span(idleMs)} ago.`,
      advice: [
        "Workers run maintenance, unless their login is bound to a tenant.",
        "Start a worker that is not bound, or call jobforge_maintain() from cron.",
      ].join(" "),
    };
  },
};

export const workers: Check = {
  name: "workers",
  run: async ({ workers: known, types, health }) => {
    if (health === undefined) return notAllowed;
    const alive = known.filter((worker) => worker.status === "alive");
    const gone = known.filter((worker) => worker.status === "gone").length;
    const waiting = types.reduce((sum, type) => sum + type.due, 0);
    if (alive.length === 0)
      return {
        verdict: waiting > 0 ? "problem" : "warning",
        message: `No worker is alive; ${count(waiting, "job")} due.`,
        advice: "Start a worker: jobforge worker ./handlers",
      };
    const lost = gone === 0 ? "" : `, ${gone} gone within a day`;
    return { verdict: "ok", message: `${count(alive.length, "worker")} alive${lost}.` };
  },
};

/** The connectors are in the command itself; other types need handlers. */
function startWorker(types: readonly { readonly type: string }[]): string {
  const ofConnectors = types.filter(({ type }) => type.startsWith("connector.")).length;
  if (ofConnectors === types.length) return "Start the connectors: jobforge worker --connectors";
  return `Start a worker with a handler${ofConnectors > 0 ? ", and with --connectors" : ""}`;
}

export const orphanTypes: Check = {
  name: "types",
  run: async ({ types, health }) => {
    if (health === undefined) return notAllowed;
    const orphans = types.filter((type) => type.workers === 0 && type.due + type.scheduled > 0);
    if (orphans.length === 0) return { verdict: "ok", message: "Every type with jobs has a worker." };
    const due = orphans.reduce((sum, type) => sum + type.due, 0);
    const part = orphans.length > namedTypes ? ` (here of ${namedTypes} of the ${orphans.length} types)` : "";
    return {
      verdict: due > 0 ? "problem" : "warning",
      message: `No worker runs ${named(orphans)}; ${count(due, "job")} due.`,
      advice: `${startWorker(orphans)}, or cancel the jobs${part}: jobforge jobs cancel --type ${quoted(orphans)}`,
      details: orphans.map(({ type, due: waiting, scheduled }) => ({ type, due: waiting, scheduled })),
    };
  },
};

export const longRuns: Check = {
  name: "runs",
  run: async ({ health }) => {
    if (health === undefined) return notAllowed;
    const { longRuns: found } = health;
    const [worst] = found;
    if (worst === undefined) return { verdict: "ok", message: "No run takes far longer than usual." };
    const described = found.map(({ type, runs, longest_ms, usual_ms }) => {
      const usual = usual_ms === null ? "" : `; usually up to ${span(usual_ms)}`;
      return `${type} (${count(runs, "run")}, up to ${span(longest_ms)}${usual})`;
    });
    return {
      verdict: "warning",
      message: `Runs take far longer than usual: ${described.join(", ")}.`,
      advice: [
        `See jobforge jobs list --status running --type ${worst.type}. A handler that hangs holds its slot:`,
        "cancel the job, and set a timeout for the type.",
      ].join(" "),
      details: found,
    };
  },
};

/** Doctor names this many types. With --json it lists all. */
const namedTypes = 5;

function named(types: readonly TypeInfo[]): string {
  const more = types.length - namedTypes;
  const names = types.slice(0, namedTypes).map(({ type }) => type);
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The types as the value of an option in a shell. */
function quoted(types: readonly TypeInfo[]): string {
  const list = types
    .slice(0, namedTypes)
    .map(({ type }) => type)
    .join(",");
  return /^[\w.,:/-]+$/.test(list) ? list : `'${list.replaceAll("'", String.raw`'\''`)}'`;
}
