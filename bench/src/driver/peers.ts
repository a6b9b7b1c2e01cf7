/** The peers that take part, and how to install and start each of them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { install as installPython } from "../../peers/python/install.js";
import { steadyRates } from "../workloads/rates.ts";
import type { Command } from "./contestant-process.ts";
import { nodeForPeers, peersFolder } from "./install.ts";

export type Progress = (message: string) => void;

/** How to copy rows that a contestant wrote itself, until there are up to a million of them. */
export interface Copies {
  readonly table: string;
  /** Columns that get a new value in each copy, as SQL expressions, in addition to columns with generated values. */
  readonly own?: Readonly<Record<string, string>>;
}

export interface Peer {
  readonly name: string;
  readonly store: "postgres" | "redis";
  /** The settings to measure. JobForge is measured with its defaults only: they are its best. */
  readonly settings: readonly ("best" | "default")[];
  /** Installs the peer if necessary. Rejects with the reason if it cannot be installed. */
  launch(onProgress: Progress): Promise<Command>;
  /** How to copy waiting jobs. */
  readonly live?: Copies;
  /** How to copy finished jobs. */
  readonly finished?: Copies;
  /** An older version. Only the full run measures it, and only in workloads in which all contestants take part. */
  readonly fullOnly?: boolean;
  /** The ids of the only workloads in which it takes part. */
  readonly only?: readonly string[];
}

const both = ["best", "default"] as const;
const river = { table: "river_job" };

/** JobForge deletes succeeded jobs, as some peers do. */
export const withoutHistory = "jobforge without history";

/** JobForge's handlers on BullMQ, to be compared with plain BullMQ. */
export const onRedis = "jobforge on redis";

/** JobForge's worker in Python. */
export const jobforgeInPython = "jobforge in python";

/** The workloads in which the queues in Python are compared. */
const comparedInPython = [
  "enqueue-1",
  "enqueue-50",
  "burn-down-1",
  "wake-up",
  ...steadyRates.map((rate) => `steady-${rate}`),
];

export const jobforge: Peer = {
  name: "jobforge",
  store: "postgres",
  settings: ["best"],
  launch: async () => launchJobForge(),
  live: { table: "jobforge.queue", own: { id: "jobforge.new_id()" } },
  finished: { table: "jobforge.archive", own: { id: "jobforge.new_id()" } },
};

/** The peers need a newer Node than JobForge, and all contestants use the same. Without peers, any Node will do. */
function launchJobForge(...args: readonly string[]): Command {
  const file = fileURLToPath(new URL("../contestants/jobforge.ts", import.meta.url));
  return { command: nodeForPeers() ?? process.execPath, args: ["--import", "tsx", file, ...args] };
}

export const peers: readonly Peer[] = [
  jobforge,
  {
    name: withoutHistory,
    store: "postgres",
    settings: ["best"],
    launch: async () => launchJobForge("without-history"),
    only: ["burn-down-1", ...steadyRates.map((rate) => `steady-${rate}`)],
  },
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
  {
    name: onRedis,
    store: "redis",
    settings: ["best"],
    launch: async () => ({
      command: nodeForPeers() ?? process.execPath,
      args: [
        "--import",
        "tsx",
        fileURLToPath(new URL("../contestants/jobforge-on-redis.ts", import.meta.url)),
      ],
    }),
  },
  onNode("bullmq on postgres", "bullmq.js"),
  { ...foreign("river"), live: river, finished: river },
  inPython("procrastinate"),
  { ...inPython(jobforgeInPython, "jobforge"), settings: ["best"], only: comparedInPython },
  {
    ...inPython("jobforge in python over http", "jobforge-over-http"),
    settings: ["best"],
    only: comparedInPython,
  },
  { ...inPython("pgqueuer"), only: comparedInPython },
  { ...inPython("chancy"), only: comparedInPython },
  { ...inPython("oban"), only: comparedInPython },
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

/** A queue in Python. They share a virtual environment, and the program in `peers/python`. */
function inPython(name: string, module = name): Peer {
  return {
    name,
    store: "postgres",
    settings: both,
    launch: async (onProgress) => installPython(module, onProgress),
  };
}

/** A peer in another language. The `install.js` in its folder builds it with the toolchain of that language. */
function foreign(name: string): Peer {
  return {
    name,
    store: "postgres",
    settings: both,
    launch: async (onProgress) => {
      const file = join(peersFolder, name, "install.js");
      if (!existsSync(file)) throw new Error(`${file} does not exist in this checkout`);
      const { install } = (await import(pathToFileURL(file).href)) as {
        install(onProgress: Progress): Command | Promise<Command>;
      };
      return await install(onProgress);
    },
  };
}
