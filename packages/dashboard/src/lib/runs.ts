/** The next runs of a schedule as rows: each in the schedule's own zone, with a note where the clocks change. */
import { inZone, offsetOf, timeOf } from "./time.ts";

export interface Run {
  readonly at: string;
  readonly own: string;
  readonly note: string;
}

export function runsOf(times: readonly string[], zone: string): readonly Run[] {
  return times.map((at, index) => {
    const ms = timeOf(at);
    const before = index === 0 ? undefined : timeOf(times[index - 1] ?? "");
    if (ms === undefined) return { at, own: at, note: "" };
    const changed = before !== undefined && offsetOf(before, zone) !== offsetOf(ms, zone);
    return { at, own: inZone(ms, zone), note: changed ? "The clocks have changed before this run" : "" };
  });
}
