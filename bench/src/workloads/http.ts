/**
 * Requests of the connector `http.request` to a server on the same machine, next to the same requests of plain undici
 * without jobs. Only JobForge takes part: the peers have no such handler.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Workload } from "./workload.ts";

const program = fileURLToPath(new URL("../http.ts", import.meta.url));
const root = fileURLToPath(new URL("../../../", import.meta.url));

export const http: Workload = {
  id: "http",
  cells: [
    {
      id: "http",
      title: "HTTP requests to this machine, 8 at a time",
      figures: [
        { key: "connector", title: "as jobs", unit: "requests/s", better: "higher" },
        { key: "plain", title: "plain undici", unit: "requests/s", better: "higher" },
        { key: "share", title: "share of plain undici", unit: "", better: "higher" },
      ],
    },
  ],
  field: "jobforge",
  quick: "jobforge",
  run: async (session, { fillJobs }) => {
    const requests = Math.max(100, Math.round(fillJobs / 50));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", program, String(requests)],
      { cwd: root, env: { ...process.env, ...session.store.env, LOG_LEVEL: "silent" } },
    );
    const { connector, plain } = JSON.parse(stdout) as { connector: number; plain: number };
    return { http: { figures: { connector, plain, share: connector / plain } } };
  },
};
