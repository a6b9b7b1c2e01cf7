/** The worker's defaults, limits and fixed times, each named once. */

// Presence: heartbeats and polls.

/** The database's worker timeout: a worker that is silent for this long loses all its leases. */
export const workerTimeoutMs = 60_000;
/** The time between two heartbeats. */
export const defaultHeartbeatMs = 10_000;
/** The longest time between heartbeats that an option may set: half the worker timeout. */
export const maxHeartbeatMs: number = workerTimeoutMs / 2;
/** The longest sleep of an idle worker before it looks for jobs again, unless it is notified. */
export const defaultPollMs = 2_000;
/** The longest sleep of an idle worker that is notified. Its heartbeats look for jobs as well. */
export const longestPollMs = 120_000;
/** The first sleep of a worker that is not notified; each further sleep is twice as long, up to `pollMs`. */
export const firstPollMs = 100;
/** The first wait for a job that should be due but was not claimed; each further wait is twice as long. */
export const firstDueRetryMs = 5;
/** After this long without an idle moment, a worker withdraws its request to be notified. */
export const busyAfterMs = 1_000;
/** The first delay before a failed call is repeated; each further delay is twice as long. */
export const firstRetryDelayMs = 100;
/** The longest delay before a failed call is repeated. */
export const maxRetryDelayMs = 5_000;

// Claiming: calls to the database.

/** The largest number of jobs that one call may claim, fixed by the database. */
export const maxBatchSize = 1_000;
/** The number of jobs that one call claims, and of ends that it settles, at most. */
export const defaultBatchSize = 500;
/** The number of jobs that may be claimed before there is a slot for them. */
export const defaultPrefetch = 1_000;
/** The number of settle-and-claim calls in flight at the same time: the database works while handlers run. */
export const parallelCalls = 2;
/** The time that an end waits for other ends to share a call, while no other reason for a call exists. */
export const settleDelayMs = 4;
/** The timeout of a call that settles and claims. */
export const settleTimeoutMs = 30_000;
/** The timeout of every other call: heartbeat, progress, policy. */
export const callTimeoutMs = 10_000;

/** The time after which a worker that could not sync the policies of its types tries again. */
export const syncRetryMs = 60_000;

// Running: handlers.

/** The number of handler calls at the same time. */
export const defaultConcurrency = 10;
/**
 * The timeout of a run whose definition and policy have none: an hour. It is longer than almost all jobs, and it ends
 * a handler that would otherwise hold its slot for ever. `timeoutMs: null` in a definition switches it off.
 */
export const defaultTimeoutMs = 3_600_000;
/** The time that a handler may continue after its signal was aborted, before its slot goes to another job. */
export const defaultAbortGraceMs = 5_000;
/** How many times its timeout a run of a schedule may last, before its schedule no longer waits for its handler. */
export const overrunFactor = 6;
/** The time that a claimed job may wait for a slot before it is handed back. */
export const maxSlotWaitMs = 500;
/** The time between two checks for claimed jobs that wait too long. */
export const slotWaitCheckMs = 100;
/** The age at which a type's policy is read again. */
export const policyMaxAgeMs = 60_000;
/** Connections that transactions of handlers leave free: one for heartbeats and progress, one for settling. */
export const reservedConnections = 2;

// Shutdown.

/** The time that a shutdown waits for running handlers. */
export const defaultGraceMs = 30_000;
/** The longest wait that `graceMs` and `abortGraceMs` may set: a day. */
export const maxGraceMs = 86_400_000;
/** The time that handlers get after a second signal. */
export const hurriedGraceMs = 1_000;
/** The time for the last settle of a shutdown. */
export const lastSettleMs = 5_000;
/** The time after a shutdown by signal in which the process may exit by itself; then it is ended. */
export const exitDelayMs = 5_000;

/** The time in which a process that dies settles and releases its runs. */
export const crashMs = 3_000;

// Ticks.

/** How often a tick looks again, in a row, for jobs that are due but were not claimed: for a third of a second. */
export const tickLooks = 6;
/** The number of jobs that `tick()` runs. */
export const defaultTickLimit = 100;
/** The number of jobs that a tick over HTTP, or the dev tick, runs. */
export const defaultRemoteTickLimit = 20;
/** The time that a tick keeps trying to settle its runs while the database fails. */
export const tickPatienceMs = 15_000;

/** How often a worker with an artifact store looks for artifacts of forgotten jobs, on average. */
export const sweepMs = 60_000;
