/** When a schedule runs, in words. */
import { duration } from "./format.ts";

interface Rhythm {
  readonly kind: string;
  readonly cron: string | null;
  readonly timezone: string | null;
  readonly every: string | null;
}

/** An interval of Postgres, such as "1 day 02:00:00", in milliseconds. Undefined if it has months or years. */
export function intervalMs(interval: string): number | undefined {
  const match = /^(?:(\d+) days? ?)?(?:(\d+):(\d\d):(\d\d(?:\.\d+)?))?$/.exec(interval);
  if (match === null || interval === "") return undefined;
  const [, days = "0", hours = "0", minutes = "0", seconds = "0"] = match;
  const whole = Number(days) * 24 + Number(hours);
  return ((whole * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}

/** "every 15m" or "0 9 * * mon-fri (Europe/Berlin)". */
export function rhythmOf({ kind, cron, timezone, every }: Rhythm): string {
  if (cron !== null) return `${cron} (${timezone ?? "UTC"})`;
  if (every === null) return kind === "dynamic" ? "set by the handler" : kind;
  const ms = intervalMs(every);
  return `every ${ms === undefined ? every : duration(ms)}`;
}
