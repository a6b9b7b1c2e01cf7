/** `jobforge workers`: lists the workers. */
import type { WorkerInfo } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { exitCodes, NotFoundError } from "../failures.ts";
import { toneOf } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { ago } from "../output/values.ts";

interface WorkersOptions extends CommonOptions {
  readonly alive?: boolean;
  readonly id?: string;
}

const columns: readonly Column<WorkerInfo>[] = [
  { title: "id", value: (worker) => worker.id, shrinks: true },
  { title: "status", value: (worker) => worker.status, tone: (worker) => toneOf(worker.status) },
  { title: "seen", value: (worker) => ago(worker.seenAt) },
  { title: "started", value: (worker) => ago(worker.startedAt), shrinks: "away" },
  { title: "running", value: (worker) => `${worker.running}/${worker.concurrency ?? "?"}`, align: "right" },
  { title: "version", value: (worker) => worker.version, shrinks: "away" },
  { title: "tenant", value: ({ tenantLabel }) => tenantLabel, optional: true, shrinks: "away", least: 8 },
  { title: "types", value: ({ types }) => types?.join(", ") ?? "any", shrinks: "first", least: 24 },
];

export function workersCommand(program: Command, cli: Cli): void {
  onDatabase(
    addCommand(program, "workers", {
      summary: "List workers, the most recently seen first",
      details: [
        "A worker that was stopped is listed for an hour.",
        "A worker counts as gone after a minute of silence, and is removed from the list after a day.",
      ].join(" "),
      examples: [
        "jobforge workers",
        "jobforge workers --alive --json",
        "jobforge workers --alive --id worker-1",
      ],
    }),
  )
    .option("--alive", "only workers that are alive")
    .option("--id <name>", "only this worker; exit code 4 if it is not listed, for probes")
    .action(
      action(cli, (options: WorkersOptions) =>
        connected(cli, options, async ({ forge }, output) => {
          const items = (await forge.workers.list()).filter((worker) => isMeant(worker, options));
          if (options.id !== undefined && items.length === 0)
            throw new NotFoundError(
              options.alive ? `No worker ${options.id} is alive.` : `There is no worker ${options.id}.`,
            );
          output.list(items, columns, { empty: "No workers." });
          return exitCodes.ok;
        }),
      ),
    );
}

function isMeant(worker: WorkerInfo, { alive, id }: WorkersOptions): boolean {
  return (!alive || worker.status === "alive") && (id === undefined || worker.id === id);
}
