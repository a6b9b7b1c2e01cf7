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

const units: Readonly<Record<number, string>> = { 60000: "minute", 3600000: "hour", 86400000: "day" };

/** "Every 15m" or "0 9 * * mon-fri (Europe/Berlin)". */
export function rhythmOf({ kind, cron, timezone, every }: Rhythm): string {
  if (cron !== null) return `${cron} (${timezone ?? "UTC"})`;
  if (every === null) return kind === "dynamic" ? "set by the handler" : kind;
  const ms = intervalMs(every);
  return `Every ${ms === undefined ? every : (units[ms] ?? duration(ms))}`;
}

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;

const nicknames: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** "Monday to Friday at 09:00" for "0 9 * * mon-fri". Undefined for what no short sentence says exactly. */
export function cronWords(cron: string): string | undefined {
  const fields = (nicknames[cron.toLowerCase()] ?? cron).trim().toLowerCase().split(/\s+/);
  if (fields.length !== 5) return undefined;
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  if (month !== "*") return undefined;
  const isEveryDay = day === "*" && weekday === "*";
  const step = /^\*\/(\d+)$/.exec(minute)?.[1];
  // Steps begin again with each hour, so only divisors of 60 are really "every".
  if (step !== undefined && 60 % Number(step) === 0 && hour === "*" && isEveryDay)
    return step === "1" ? "Every minute" : `Every ${step} minutes`;
  if (minute === "*" && hour === "*" && isEveryDay) return "Every minute";
  if (!/^\d{1,2}$/.test(minute)) return undefined;
  if (hour === "*" && isEveryDay) return `Every hour at :${minute.padStart(2, "0")}`;
  if (!/^\d{1,2}$/.test(hour)) return undefined;
  const time = `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (isEveryDay) return `Every day ${time}`;
  if (weekday === "*" && /^\d{1,2}$/.test(day)) return `Day ${day} of each month ${time}`;
  const named = day === "*" ? weekdayWords(weekday) : undefined;
  return named === undefined ? undefined : `${named} ${time}`;
}

/** "mon-fri" or "1,3" in words. */
function weekdayWords(field: string): string | undefined {
  const [from, to, ...rest] = field.split("-").map(dayName);
  if (field.includes("-"))
    return from === undefined || to === undefined || rest.length > 0 ? undefined : `${from} to ${to}`;
  const names = field.split(",").map(dayName);
  if (names.some((name) => name === undefined)) return undefined;
  return names.length < 3 ? names.join(" and ") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function dayName(word: string): string | undefined {
  if (/^[0-7]$/.test(word)) return days[Number(word) % 7];
  return days.find((day) => word.length === 3 && day.toLowerCase().startsWith(word));
}
