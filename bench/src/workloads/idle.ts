/** The cost of idle workers. */
import { setTimeout as sleep } from "node:timers/promises";
import { Unsupported } from "../driver/protocol.ts";
import { working } from "../driver/session.ts";
import type { Workload } from "./workload.ts";

const processes = 4;

export const idle: Workload = {
  id: "idle",
  cells: [
    {
      id: "idle",
      title: "Idle cost of 100 workers",
      figures: [
        { key: "serverCpu", title: "CPU of the server", unit: "ms/s", better: "lower" },
        { key: "workerCpu", title: "CPU of the workers", unit: "ms/s", better: "lower" },
      ],
      costsPer: "second",
    },
  ],
  // The settings that are best for throughput poll more often than is reasonable for idle workers.
  field: "defaults",
  quick: false,
  run: async (session, { idleWorkers, idleSeconds }) => {
    const crew = await session.start(processes);
    const workers = Math.ceil(idleWorkers / processes);
    const replies = await crew.ask(working({ workers }));
    if (replies.some((reply) => reply.workers !== workers)) {
      throw new Unsupported("it starts only one worker per process");
    }
    // The cost of starting the workers is not measured. Each proves with a notification that it hears them, which every
    // other worker hears as well.
    await sleep(20_000);
    const cost = await session.watched(crew, idleSeconds);
    const milliseconds = (seconds: number | undefined): number => (seconds ?? Number.NaN) * 1000;
    const figures = {
      serverCpu: milliseconds(cost.serverCpuSeconds),
      workerCpu: milliseconds(cost.workerCpuSeconds),
    };
    return { idle: { figures, cost } };
  },
};
