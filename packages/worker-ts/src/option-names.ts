/** The names of a worker's options and hooks, and the option that a caller of another name probably meant. */
import type { Aliases } from "@jobforge/sdk-ts";
import type { WorkerOptions } from "./options.ts";

/** Every option. The type makes sure that none is missing. */
export const optionNames = Object.keys({
  handlers: true,
  concurrency: true,
  maxPerType: true,
  id: true,
  tenantId: true,
  listen: true,
  handOff: true,
  pollMs: true,
  heartbeatMs: true,
  graceMs: true,
  abortGraceMs: true,
  batchSize: true,
  prefetch: true,
  logger: true,
  logStacks: true,
  handleCrashes: true,
  hooks: true,
  sync: true,
  appVersion: true,
  middleware: true,
  offload: true,
} satisfies Record<keyof WorkerOptions, true>);

/** What other libraries call these options. */
export const optionAliases: Aliases = {
  handler: "handlers",
  jobs: "handlers",
  tasklist: "handlers",
  parallelism: "concurrency",
  maxconcurrency: "concurrency",
  teamsize: "concurrency",
  pollinterval: "pollMs",
  pollingintervalseconds: "Did you mean pollMs? It counts milliseconds.",
  graceperiod: "graceMs",
  shutdowntimeout: "graceMs",
  name: "id",
  workerid: "id",
  tenant: "tenantId",
  log: "logger",
  types: "A worker claims the types of its handlers, and no others.",
  timeoutms: "The timeout is in the definition: defineJob({ timeoutMs }).",
  timeout: "The timeout is in the definition: defineJob({ timeoutMs }).",
  retry: "Retries are in the definition: defineJob({ retry }).",
  database:
    "The database is an option of the JobForge: createWorker(new JobForge({ database }), { handlers }).",
};

export const hookNames = [
  "onClaim",
  "onStart",
  "onSuccess",
  "onFailure",
  "onDead",
  "onSuspend",
  "onStale",
  "onTrouble",
  "onTroubleOver",
] as const;

/** What other libraries call the hooks. */
export const hookAliases: Aliases = {
  ondeath: "onDead",
  onerror: "Did you mean onFailure (a run failed), or onTrouble (a call to the database failed)?",
  onfail: "onFailure",
  onfailed: "onFailure",
  oncomplete: "onSuccess",
  oncompleted: "onSuccess",
  onactive: "onStart",
};
