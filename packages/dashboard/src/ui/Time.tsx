/** A point in time in the zone that the user chose. Its title has all zones. */
import type { JSX } from "preact";
import { duration } from "../lib/format.ts";
import { exact, relative, show, timeOf } from "../lib/time.ts";
import { now, zone } from "../state/settings.ts";

export function Time({ at, none = "–" }: { at: string | null | undefined; none?: string }): JSX.Element {
  if (at === null || at === undefined) return <span>{none}</span>;
  const ms = timeOf(at);
  if (ms === undefined) return <span>{at}</span>;
  const title = `${exact(ms, "local")}\n${exact(ms, "utc")}\n${relative(ms, now.peek())}`;
  return (
    <time dateTime={new Date(ms).toISOString()} title={title}>
      {zone.value === "relative" ? <Relative ms={ms} /> : show(ms, zone.value, now.peek())}
    </time>
  );
}

/** Separate, so that the clock renews these texts and nothing around them. */
function Relative({ ms }: { ms: number }): JSX.Element {
  return <>{relative(ms, now.value)}</>;
}

/** The time since a moment, which goes on. */
export function Since({ at }: { at: string }): JSX.Element {
  const ms = timeOf(at);
  return <>{ms === undefined ? at : duration(Math.max(0, now.value - ms))}</>;
}
