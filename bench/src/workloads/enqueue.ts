/** Enqueues one job per call, as applications do. The jobs are never run. */
import { rate, type Workload } from "./workload.ts";

function oneByOne(concurrency: number): Workload {
  const id = `enqueue-${concurrency}`;
  return {
    id,
    cells: [
      {
        id,
        title: `Enqueue one by one, ${concurrency} at a time`,
        figures: [rate],
        costsPer: "job",
      },
    ],
    field: "best",
    quick: concurrency > 1 && "best",
    run: async (session, { enqueueSeconds }) => {
      const calls = { how: "one", concurrency, seconds: enqueueSeconds } as const;
      const { result, cost } = await session.fill({ ...calls, jobs: 1_000_000 }, 10 * concurrency);
      return { [id]: { figures: { rate: result.jobs / result.seconds }, cost } };
    },
  };
}

export const enqueueing = [1, 50].map(oneByOne);
