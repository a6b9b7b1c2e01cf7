/**
 * How late a schedule fires on an idle system. Only JobForge takes part: the schedules of the peers work differently.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Workload, wait } from "./workload.ts";

const program = fileURLToPath(new URL("../firing.ts", import.meta.url));
const root = fileURLToPath(new URL("../../../", import.meta.url));

export const firing: Workload = {
  id: "firing",
  cells: [
    {
      id: "firing",
      title: "Delay of a schedule after its due time, on an idle system",
      figures: [wait("p50"), wait("p95")],
    },
  ],
  field: "jobforge",
  quick: "jobforge",
  run: async (session, { wakeRate, wakeSeconds }) => {
    // The schedule fires about every 150 ms.
    const runs = Math.max(3, Math.round((wakeRate * wakeSeconds) / 2));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", program, String(runs)],
      { cwd: root, env: { ...process.env, ...session.store.env, LOG_LEVEL: "silent" } },
    );
    const { median, p95 } = JSON.parse(stdout) as { median: number; p95: number };
    return { firing: { figures: { p50: median, p95 } } };
  },
};
