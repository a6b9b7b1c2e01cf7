/**
 * A second, independent implementation of the next run of an expression. croner decides which times of a wall clock an
 * expression names. This file decides when these times occur, by the rule in the comment of jobforge.cron_after.
 */
import { Cron } from "croner";
import type { CronCase } from "./cron-cases.ts";
import { type Span, spansOf } from "./cron-zones.ts";

/** Creates a croner that reads the same grammar. Without a zone it uses a clock that never changes. */
export function readCron(expression: string, zone?: string): Cron {
  const clock = zone === undefined ? { utcOffset: 0 } : { timezone: zone };
  return new Cron(expression, { ...clock, sloppyRanges: true });
}

/**
 * Returns the next time on a clock that never changes. Asks croner month by month: after searching for 30 February it
 * continues on 2 March, and would miss 1 March.
 */
function nextOnWall(cron: Cron, after: number): number | undefined {
  for (let from = after; ; ) {
    const next = cron.nextRun(new Date(from))?.getTime();
    const start = new Date(from + 1000);
    const monthEnd = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1);
    if (next === undefined || next < monthEnd) return next;
    from = monthEnd - 1000;
  }
}

/** Returns whether the expression names all 24 hours, and so also runs in a repeated hour. */
export function namesEveryHour(expression: string): boolean {
  const field = expression === "@hourly" ? "*" : (expression.trim().split(/\s+/).at(-4) ?? "");
  const hours = field.split(",").flatMap((term) => {
    const [, from, to, step] = /^(\*|\d+)(?:-(\d+))?(?:\/(\d+))?$/.exec(term) ?? [];
    const first = from === "*" ? 0 : Number(from);
    const last = Number(to ?? (from === "*" || step !== undefined ? 23 : first));
    return Array.from({ length: 24 }, (_, n) => first + n * Number(step ?? 1)).filter((hour) => hour <= last);
  });
  return new Set(hours).size === 24;
}

/** Returns the first instant at which the clock shows this time or a later one. */
function firstInstantOf(spans: readonly Span[], wall: number): number | undefined {
  for (const { from, to, offset } of spans) {
    const at = Math.max(from, wall - offset);
    if (at < to) return at;
  }
  return undefined;
}

/** Returns the next run, or undefined if it is beyond the known spans of the zone. */
export function expectedNext({ expression, zone, after }: CronCase): number | undefined {
  const cron = readCron(expression);
  const next = (from: number): number | undefined => nextOnWall(cron, from);
  const now = Math.floor(after / 1000) * 1000;
  const spans = spansOf(zone).filter(({ to }) => to > now - 2 * 86_400_000);
  if (namesEveryHour(expression)) {
    for (const { from, to, offset } of spans.filter((span) => span.to > now + 1000)) {
      const start = Math.max(from, now + 1000);
      const at = (next(start + offset - 1000) ?? Number.POSITIVE_INFINITY) - offset;
      if (at < to) return at;
    }
    return undefined;
  }
  const span = spans.find(({ to }) => now < to);
  let wall = next(now + (span?.offset ?? 0));
  while (wall !== undefined) {
    const at = firstInstantOf(spans, wall);
    if (at === undefined || at > now) return at;
    wall = next(wall);
  }
  return undefined;
}
