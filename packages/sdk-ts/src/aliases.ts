/** What other job libraries call the options of an enqueue, of a definition and of a schedule. */
import type { Aliases } from "./suggest.ts";

export const enqueueAliases: Aliases = {
  delay: "Did you mean delayMs?",
  in: "Did you mean delayMs?",
  delayseconds: "Did you mean delayMs? It counts milliseconds.",
  maxretries: "Did you mean maxAttempts? It counts all executions: the first one and the retries.",
  retries: "Did you mean maxAttempts? It counts all executions: the first one and the retries.",
  retrylimit: "Did you mean maxAttempts? It counts all executions: the first one and the retries.",
  attempts: "maxAttempts",
  retry: "Did you mean maxAttempts? The waits between retries are in the definition: defineJob({ retry }).",
  backoff: "The waits between retries are in the definition: defineJob({ retry }).",
  tenant: "tenantId",
  orgid: "tenantId",
  at: "runAt",
  startafter: "Did you mean runAt, or delayMs?",
  scheduledfor: "runAt",
  jobid: "idempotencyKey",
  jobkey: "dedupeKey",
  singletonkey: "dedupeKey",
  uniquekey: "Did you mean dedupeKey (one live job), or idempotencyKey (one job for good)?",
  jobkeymode: "dedupeMode",
  queuename: "Did you mean concurrencyKey? Jobs are routed by the type of their definition.",
  queue: "Jobs are routed by the type of their definition; there are no other queues.",
  timeout: "The timeout is in the definition: defineJob({ timeoutMs }).",
  timeoutms: "The timeout is in the definition: defineJob({ timeoutMs }).",
  cron: "Recurring work is a schedule: forge.schedules.ensure(job, key, { cron }).",
  repeat: "Recurring work is a schedule: forge.schedules.ensure(job, key, { every }).",
  payload: "The payload is the second argument: enqueue(job, input, options).",
  input: "The input is the second argument: enqueue(job, input, options).",
};

const allAttempts =
  "Did you mean retry: { maxAttempts }? It counts all executions: the first one and the retries.";
const boundHandler =
  "Bind the handler to the definition: defineJob({ type }).handle(async (input) => { … }).";
const atOnce =
  "Did you mean a limit? forge.limits.set({ type }, { maxRunning }), or concurrency of the worker.";
const atEnqueue = "It is an option of a single job: enqueue(job, input, options).";

export const definitionAliases: Aliases = {
  name: "type",
  id: "type",
  queue: "type",
  retries: allAttempts,
  maxretries: allAttempts,
  retrylimit: allAttempts,
  attempts: allAttempts,
  maxattempts: allAttempts,
  backoff: "retry",
  timeout: "Did you mean timeoutMs? It counts milliseconds.",
  timeoutseconds: "Did you mean timeoutMs? It counts milliseconds.",
  lease: "Did you mean leaseMs? It counts milliseconds.",
  schema: "input",
  payload: "input",
  result: "output",
  dedupekey: "Did you mean dedupe? It is a function that returns the key of an input.",
  retention: "Did you mean retentionDays? It counts days.",
  handler: boundHandler,
  run: boundHandler,
  concurrency: atOnce,
  maxrunning: atOnce,
  ratelimit: "Did you mean a limit? forge.limits.set({ type }, { rate, per }).",
  cron: "Recurring work is a schedule: defineSchedule({ job, key, cron }).",
  every: "Recurring work is a schedule: defineSchedule({ job, key, every }).",
  delayms: atEnqueue,
  runat: atEnqueue,
  tenantid: atEnqueue,
  idempotencykey: atEnqueue,
};

export const retryAliases: Aliases = {
  retries: "Did you mean maxAttempts? It counts all executions: the first one and the retries.",
  maxretries: "Did you mean maxAttempts? It counts all executions: the first one and the retries.",
  attempts: "maxAttempts",
  limit: "maxAttempts",
  base: "Did you mean baseMs? It counts milliseconds.",
  delay: "Did you mean baseMs? It counts milliseconds.",
  cap: "Did you mean capMs? It counts milliseconds.",
  max: "Did you mean capMs (the longest wait), or maxAttempts?",
};

const attemptsOfRuns =
  "Did you mean maxAttempts, together with retryRuns: true? It counts all executions: the first one and the retries.";
const nextRun =
  "Did you mean nextRunAt? schedules.update(job, key, { nextRunAt }, { tenantId }) moves the next run.";

export const scheduleAliases: Aliases = {
  interval: 'Did you mean every? It is a text such as "5m".',
  everyms: 'Did you mean every? It is a text such as "5m".',
  repeat: "Did you mean every, or cron?",
  pattern: "cron",
  expression: "cron",
  cronexpression: "cron",
  rrule: "Did you mean cron?",
  tz: "timezone",
  zone: "timezone",
  name: "key",
  id: "key",
  type: "Did you mean job? Pass the definition.",
  handler: "Did you mean job? Pass the definition; its handler belongs to the worker.",
  tenant: "tenantId",
  orgid: "tenantId",
  input: "payload",
  data: "payload",
  start: "startsAt",
  startdate: "startsAt",
  end: "endsAt",
  enddate: "endsAt",
  disabled: "Did you mean enabled: false?",
  paused: "Did you mean enabled: false?",
  immediately: "A schedule with every runs at once when it is new. To run it now: schedules.run(job, key).",
  runat: nextRun,
  delayms: nextRun,
  nextrunat: nextRun,
  retry: attemptsOfRuns,
  retries: attemptsOfRuns,
  maxretries: attemptsOfRuns,
  attempts: attemptsOfRuns,
  timeout: "The timeout is in the definition: defineJob({ timeoutMs }).",
  timeoutms: "The timeout is in the definition: defineJob({ timeoutMs }).",
};
