/** The delays of the processing-jobs design, which are in seconds. */
import { checkDate } from "../arguments/values.ts";

/** The time `seconds` after `now`. Throws, naming the field, if `seconds` does not give a valid time. */
export function timeIn(seconds: number, field: string, now: number): Date {
  const time = new Date(now + seconds * 1000);
  checkDate(time, field);
  return time;
}
