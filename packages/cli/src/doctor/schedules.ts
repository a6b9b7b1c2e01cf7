/** The check of schedules that are due, but of which no worker makes runs. No count of jobs shows them. */
import type { TypeInfo } from "@jobforge/sdk-ts";
import { count, span } from "../output/values.ts";
import type { Check } from "./check.ts";
import { notAllowed } from "./check.ts";

/** A schedule is late for a moment whenever workers are busy. After a minute it counts as missed. */
const allowedMs = 60_000;

export const overdueSchedules: Check = {
  name: "schedules",
  run: async ({ types, health }) => {
    if (health === undefined) return notAllowed;
    const now = Date.parse(health.now);
    const lateness = ({ oldestScheduleAt }: TypeInfo): number => now - Number(oldestScheduleAt ?? now);
    const late = types.filter((type) => !type.paused && lateness(type) > allowedMs);
    if (late.length === 0) return { verdict: "ok", message: "No schedule is overdue." };
    const isOrphaned = late.some((type) => type.workers === 0);
    const due = late.reduce((sum, type) => sum + type.dueSchedules, 0);
    const names = late.map(({ type }) => type).join(", ");
    const longest = span(Math.max(...late.map(lateness)));
    return {
      verdict: isOrphaned ? "problem" : "warning",
      message: `${count(due, "schedule")} of ${names} due, the oldest for ${longest}.`,
      advice: isOrphaned
        ? "No worker claims the type. Start a worker with a handler for it: jobforge worker ./handlers"
        : "Workers are busy. Start more of them, or look at jobforge schedules list.",
      details: late.map(({ type, dueSchedules, oldestScheduleAt, workers }) => ({
        type,
        dueSchedules,
        oldestScheduleAt,
        workers,
      })),
    };
  },
};
