/** How late a schedule fires on an idle system. Ours alone: the peers' schedules are of another kind. */
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
      title: "A schedule fires after its due time, on an idle system",
      figures: [wait("p50"), wait("p95")],
    },
  ],
  field: "jobforge",
  quick: "jobforge",
  run: async (session, { wakeRate, wakeSeconds }) => {
    // A run every 150 ms or so.
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
