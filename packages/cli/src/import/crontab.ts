/**
 * The crontab of graphile-worker, the only place where its cron entries are. Each line has five fields of time, the
 * name of the task, options such as `?id=nightly&fill=1h`, and a payload. Times are UTC. The file is never changed.
 */
import type { Source, SourceOptions, SourceSchedule } from "./source.ts";

/** Returns the source with the cron entries of a crontab. */
export function crontabSource(
  source: Source,
  crontab: string,
  { types }: Pick<SourceOptions, "types">,
): Source {
  return {
    census: () => source.census(),
    next: (limit, work) => source.next(limit, work),
    schedules: async (work) => {
      const entries = readCrontab(crontab);
      await work(
        types === undefined ? entries : entries.filter(({ name }) => types.includes(name)),
        undefined,
      );
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

const lineParts = /^((?:[0-9*/,-]+\s+){5})([_a-zA-Z][\w:/-]*)(?:\s+\?(\S+))?(?:\s+(\{.*\}))?$/;

export function readCrontab(text: string): SourceSchedule[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map(entryOf);
}

function entryOf(line: string): SourceSchedule {
  const [, times = "", name, options = "", json] = lineParts.exec(line) ?? [];
  if (name === undefined)
    return { name: line, key: line, payload: null, missed: "skip", problem: "the line cannot be read" };
  const given = new URLSearchParams(options);
  const entry = {
    name,
    key: given.get("id") ?? name,
    cron: times.trim().replaceAll(/\s+/g, " "),
    // An entry without `fill` leaves out what it has missed.
    missed: given.has("fill") ? ("all" as const) : ("skip" as const),
  };
  try {
    return { ...entry, payload: json === undefined ? null : (JSON.parse(json) as unknown) };
  } catch {
    return { ...entry, payload: null, problem: "its payload is JSON5: write it as JSON" };
  }
}
