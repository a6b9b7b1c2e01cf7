/** A point in time in the zone that the user chose. Its title has all zones. */
import type { JSX } from "preact";
import { duration } from "../lib/format.ts";
import { clock, exact, relative, show, timeOf } from "../lib/time.ts";
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

/** A sentence of the kernel. The times in it, which are of UTC, are shown in the zone that the user chose. */
export function Words({ text }: { text: string }): JSX.Element {
  const parts = text.split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+]00:00))/);
  return <>{parts.map((part, index) => (index % 2 === 1 ? <Moment key={index} at={part} /> : part))}</>;
}

/** A time within a sentence, where "3 m ago" would not fit. */
function Moment({ at }: { at: string }): JSX.Element {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={`${exact(ms, "utc")}\n${relative(ms, now.peek())}`}>
      {clock(ms, zone.value === "utc" ? "utc" : "local", now.peek())}
    </time>
  );
}

/** "for 3m 20s", or "since 12:03:10" where the user wants to read clocks. */
export function Lasting({ at }: { at: string }): JSX.Element {
  if (zone.value !== "relative")
    return (
      <>
        since <Time at={at} />
      </>
    );
  return (
    <>
      for <Since at={at} />
    </>
  );
}

/** The time since a moment, which goes on. */
export function Since({ at }: { at: string }): JSX.Element {
  const ms = timeOf(at);
  return <>{ms === undefined ? at : duration(Math.max(0, now.value - ms))}</>;
}

/** The time between two moments, or until now if the second is still to come. */
export function Took({ from, to }: { from: string; to: string | null }): JSX.Element {
  if (to === null) return <Since at={from} />;
  return <>{duration(Date.parse(to) - Date.parse(from))}</>;
}
