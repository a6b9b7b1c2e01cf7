/** Made-up results of a run, for tests of reports. */
import type { Contestant } from "../src/driver/arena.ts";
import { jobforge } from "../src/driver/peers.ts";
import type { CellResults, Result, RunResults } from "../src/driver/run.ts";
import { rate } from "../src/workloads/workload.ts";

export function contestant(name: string): Contestant {
  return {
    name,
    peer: { ...jobforge, name },
    settings: "best",
    command: { command: "", args: [] },
    prepared: { version: "1.2.3", keeps: "nothing", settings: "the usual | of them" },
  };
}

/** A contestant with one round for each of these rates. */
export function rounds(name: string, ...rates: readonly number[]): Result {
  const outcomes = rates.map((value) => ({ figures: { rate: value }, cost: { walBytes: value / 10 } }));
  return { contestant: name, outcomes };
}

export function cell(id: string, ...results: readonly Result[]): CellResults {
  return { cell: { id, title: `The cell ${id}`, figures: [rate], costsPer: "job" }, results };
}

export function runResults(...cells: readonly CellResults[]): RunResults {
  return {
    machine: { cpu: "Some CPU", cores: 2, memoryGB: 24, system: "linux" },
    node: "v24.0.0",
    postgres: "18.4",
    durability: "fsync = on",
    startedAt: "2026-11-16T17:00:00.000Z",
    seconds: 120,
    rounds: 3,
    contestants: [contestant("jobforge"), contestant("pg-boss")],
    missing: [{ name: "river", reason: "Go is not installed" }],
    cells,
  };
}
