/** Who takes part, and how each is installed and started. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Command } from "./contestant-process.ts";
import { nodeForPeers, peersFolder } from "./install.ts";

export type Progress = (message: string) => void;

/** How rows that a contestant wrote itself are copied until there are a million of them. */
export interface Copies {
  readonly table: string;
  /** What a copy has of its own, as SQL, beside columns that number themselves. */
  readonly own?: Readonly<Record<string, string>>;
}

export interface Peer {
  readonly name: string;
  readonly store: "postgres" | "redis";
  /** JobForge is measured at its defaults only: they are its best. */
  readonly settings: readonly ("best" | "default")[];
  /** Installs it if that has not been done yet. Fails with the reason when it cannot be had. */
  launch(onProgress: Progress): Promise<Command>;
  /** Jobs that wait, and jobs that have ended. */
  readonly live?: Copies;
  readonly finished?: Copies;
  /** An older version: measured by the full run only, and there only where everybody is. */
  readonly fullOnly?: boolean;
}

const both = ["best", "default"] as const;
const river = { table: "river_job" };

export const jobforge: Peer = {
  name: "jobforge",
  store: "postgres",
  settings: ["best"],
  // The peers need a newer Node than we do, and all shall have the same. Without them any will do.
  launch: async () => ({
    command: nodeForPeers() ?? process.execPath,
    args: ["--import", "tsx", fileURLToPath(new URL("../contestants/jobforge.ts", import.meta.url))],
  }),
  live: { table: "jobforge.jobs", own: { id: "jobforge.new_id()" } },
  finished: { table: "jobforge.archive", own: { id: "jobforge.new_id()" } },
};

export const peers: readonly Peer[] = [
  jobforge,
  {
    ...onNode("graphile-worker", "graphile-worker.js", "graphile-worker"),
    live: { table: "graphile_worker._private_jobs" },
    finished: { table: "graphile_worker._private_jobs" },
  },
  {
    ...onNode("graphile-worker 0.17", "graphile-worker.js", "graphile-worker-0.17"),
    settings: ["best"],
    fullOnly: true,
  },
  {
    ...onNode("pg-boss", "pg-boss.js"),
    live: { table: "pgboss.job" },
    finished: { table: "pgboss.job" },
  },
  { ...onNode("bullmq on redis", "bullmq.js"), store: "redis" },
  onNode("bullmq on postgres", "bullmq.js"),
  { ...foreign("river"), live: river, finished: river },
  foreign("procrastinate"),
];

function onNode(name: string, file: string, ...args: readonly string[]): Peer {
  return {
    name,
    store: "postgres",
    settings: both,
    launch: async (onProgress) => {
      const node = nodeForPeers(onProgress);
      if (node === undefined) throw new Error("npm could not install it");
      return { command: node, args: [join(peersFolder, file), ...args] };
    },
  };
}

/** One with a toolchain of its own, which its folder knows how to use. */
function foreign(name: string): Peer {
  return {
    name,
    store: "postgres",
    settings: both,
    launch: async (onProgress) => {
      const file = join(peersFolder, name, "install.js");
      if (!existsSync(file)) throw new Error(`this checkout has no ${file}`);
      const { install } = (await import(pathToFileURL(file).href)) as {
        install(onProgress: Progress): Command | Promise<Command>;
      };
      return await install(onProgress);
    },
  };
}
