/** The same test on both transports: a JobForge with the rights of a role, over Postgres or over HTTP. */
import { test as base } from "../../../../test/database.ts";
import { JobForge } from "../../src/index.ts";
import { sign, startBridge } from "./bridge.ts";

export const transports = ["Postgres", "HTTP"] as const;
export type TransportName = (typeof transports)[number];

export interface Rights {
  readonly role:
    | "jobforge_app"
    | "jobforge_operator"
    | "jobforge_worker"
    | "jobforge_tenant"
    | "jobforge_reader";
  /** The tenant in the claims; a login over Postgres names it call by call. */
  readonly tenantId?: string;
}

/** Vitest's `test` with `db`, and `connect`, which opens clients of either transport and closes them after the test. */
export const test = base.extend<{ connect: (name: TransportName, rights: Rights) => Promise<JobForge> }>({
  connect: async ({ db }, use) => {
    const open: AsyncDisposable[] = [];
    const keep = <T extends AsyncDisposable>(opened: T): T => {
      open.unshift(opened);
      return opened;
    };
    await use(async (name, { role, tenantId }) => {
      if (name === "Postgres") return keep(new JobForge({ database: (await db.createLogin(role)).url }));
      const bridge = keep(await startBridge(db));
      const token = sign({ role, ...(tenantId === undefined ? {} : { tenant_id: tenantId }) });
      return keep(new JobForge({ url: bridge.url, token }));
    });
    for (const opened of open) await opened[Symbol.asyncDispose]();
  },
});
