/** Intervals of Postgres, in the form that people write. */

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/**
 * Formats an interval of Postgres, such as `01:30:00`, as people write it: `1h30m`. Intervals with months stay as they
 * are, because they have no length.
 */
export function intervalText(interval: string): string {
  const [whole, days = "0", hours = "0", minutes = "0", seconds = "0"] =
    /^(?:(\d+) days?)? ?(?:(\d+):(\d+):(\d+(?:\.\d+)?))?$/.exec(interval) ?? [];
  if (whole === undefined || whole === "") return interval;
  let rest = Math.round(
    ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1000,
  );
  let text = "";
  for (const [name, size] of units) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (number > 0) text += `${number}${name}`;
  }
  return rest > 0 || text === "" ? `${text}${rest}ms` : text;
}
