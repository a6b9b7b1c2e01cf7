/** How all contestants do at their default settings, which is what most people run. */
import type { RunResults } from "../driver/run.ts";
import { number } from "../table.ts";
import { table } from "./markdown.ts";
import { figureOf } from "./statistics.ts";

const ending = ", defaults";

const columns = [
  { id: "burn-down-1", key: "rate", title: "burn-down, jobs/s" },
  { id: "wake-up", key: "p50", title: "idle wake-up, median ms" },
] as const;

/** A heading and a table. Empty if no contestant ran with its defaults. JobForge always does. */
export function defaultsSection({ cells }: RunResults): string[] {
  const shown = columns.map((column) => ({
    ...column,
    results: cells.find(({ cell }) => cell.id === column.id)?.results ?? [],
  }));
  const names = shown.flatMap(({ results }) => results.map(({ contestant }) => contestant));
  const peers = [...new Set(names.filter((name) => name.endsWith(ending)))];
  if (peers.length === 0) return [];
  const rows = ["jobforge", ...peers].map((name) => [
    name.replace(ending, ""),
    ...shown.flatMap(({ key, results }) => {
      const [ours, theirs] = ["jobforge", name].map(
        (wanted) =>
          figureOf(
            results.find(({ contestant }) => contestant === wanted),
            key,
          )?.median,
      );
      const times =
        name === "jobforge" || ours === undefined || !theirs ? "" : `${(ours / theirs).toFixed(2)}×`;
      return [theirs === undefined ? "–" : number(theirs), times];
    }),
  ]);
  const head = ["", ...columns.flatMap(({ title }) => [title, "jobforge ÷"])];
  return ["### At their default settings", table(head, rows)];
}
