/** The report as JSON, for programs. */
import type { RunResults } from "../driver/run.ts";
import { costOf, figureOf, ratioOf, type Summary } from "./statistics.ts";
import { judge } from "./targets.ts";

export function jsonReport(results: RunResults, command: string): object {
  const { machine, node, postgres, durability, redis, startedAt, seconds, rounds, missing } = results;
  return {
    command,
    startedAt,
    seconds,
    rounds,
    machine,
    versions: { node, postgres, ...(redis === undefined ? {} : { redis }) },
    durability,
    contestants: results.contestants.map(({ name, settings, prepared }) => ({
      name,
      version: prepared.version,
      runs: settings,
      settings: prepared.settings,
      keeps: prepared.keeps,
    })),
    missing,
    cells: results.cells.map((cell) => ({
      ...cell.cell,
      results: cell.results.map((result) => {
        const { contestant, unsupported, failed } = result;
        if (unsupported !== undefined) return { contestant, unsupported };
        if (failed !== undefined) return { contestant, failed };
        const figures: Record<string, Summary> = {};
        const ratios: Record<string, number> = {};
        for (const figure of cell.cell.figures) {
          const found = figureOf(result, figure.key);
          if (found !== undefined) figures[figure.key] = found;
          const ratio = contestant === "jobforge" ? undefined : ratioOf(cell, contestant, figure);
          if (ratio !== undefined) ratios[figure.key] = ratio;
        }
        const cost = cell.cell.costsPer === undefined ? {} : { cost: costOf(result) };
        return { contestant, figures, jobforgeDividedByPeer: ratios, ...cost };
      }),
    })),
    targets: judge(results),
  };
}
