/** graphile-worker at its best settings: a local queue of 500 and batched completion. */
import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";

const quiet = new Logger(() => () => undefined);
const settings = {
  connectionString: process.env.DATABASE_URL,
  preset: {
    worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  },
  concurrency: 24,
  maxPoolSize: 25,
  noHandleSignals: true,
  logger: quiet,
};

/** What the benchmark asks of every contender: see src/contenders/contender.ts. */
export const contender = {
  async prepare() {
    await runMigrations(settings);
  },
  async enqueue(count) {
    const utils = await makeWorkerUtils({ connectionString: process.env.DATABASE_URL, logger: quiet });
    for (let from = 0; from < count; from += 1000) {
      const size = Math.min(1000, count - from);
      await utils.addJobs(
        Array.from({ length: size }, (_, n) => ({ identifier: "noop", payload: { n: from + n } })),
      );
    }
    await utils.release();
  },
  async start(onJob) {
    const runner = await run({ ...settings, taskList: { noop: async () => onJob() } });
    return async () => await runner.stop();
  },
  async sender() {
    const utils = await makeWorkerUtils({ connectionString: process.env.DATABASE_URL, logger: quiet });
    return { send: async () => void (await utils.addJob("noop", { n: 1 })), close: () => utils.release() };
  },
};
