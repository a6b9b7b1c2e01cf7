/** Numbers and lengths of time as people read them. */

const whole = new Intl.NumberFormat("en-US");

/** 1234567 → "1,234,567". */
export function count(value: number): string {
  return whole.format(value);
}

/** A count that may be an estimate: "≈ 1.2 M". An exact count has all its digits up to a million. */
export function countOf(value: number, exact = true): string {
  if (exact && value < 1_000_000) return count(value);
  return `${exact ? "" : "≈ "}${short(value)}`;
}

/** 1234567 → "1.2 M". */
export function short(value: number): string {
  if (value < 1000) return count(Math.round(value));
  if (value < 10_000) return `${trim(value / 1000)} k`;
  if (value < 1_000_000) return `${count(Math.round(value / 1000))} k`;
  if (value < 1_000_000_000) return `${trim(value / 1_000_000)} M`;
  return `${trim(value / 1_000_000_000)} G`;
}

function trim(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}

const units: readonly (readonly [string, number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

/** A length of time in at most two units: "3m 20s", "1.4 s", "12 ms". */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  const size = Math.abs(ms);
  if (size < 1) return "0 ms";
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (size < 60_000) return `${Math.round(ms / 1000)} s`;
  let rest = Math.round(size / 1000) * 1000;
  const parts: string[] = [];
  for (const [unit, length] of units) {
    const times = Math.floor(rest / length);
    rest -= times * length;
    if (times > 0) parts.push(`${times}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return (ms < 0 ? "−" : "") + parts.join(" ");
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 1_000_000) return `${trim(size / 1000)} kB`;
  return `${trim(size / 1_000_000)} MB`;
}

export function percent(part: number, all: number): string {
  if (all === 0) return "0 %";
  const value = (part / all) * 100;
  return `${value > 0 && value < 10 ? trim(value) : Math.round(value)} %`;
}

export function cents(value: number): string {
  return (value / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** The first characters of an id, enough to tell two jobs of a page apart. UUIDv7 begin with their time, so the end. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}
