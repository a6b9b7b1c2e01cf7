/**
 * Runs a test on all transports: a JobForge with the rights of a role, over Postgres, over PostgREST, or over our own
 * server.
 */
import { createServer } from "@jobforge/server";
import type { TestDatabase } from "@jobforge/testing";
import { pino } from "pino";
import { test as base } from "../../../../test/database.ts";
import { JobForge } from "../../src/index.ts";
import { secret, sign, startBridge } from "./bridge.ts";

export const transports = ["Postgres", "HTTP", "the server"] as const;
export type TransportName = (typeof transports)[number];

export interface Rights {
  readonly role:
    | "jobforge_app"
    | "jobforge_operator"
    | "jobforge_worker"
    | "jobforge_tenant"
    | "jobforge_reader";
  /** The tenant in the claims. A login over Postgres names the tenant with each call. */
  readonly tenantId?: string;
}

/** Vitest's `test` with `db`, and `connect`, which opens clients of any transport and closes them after the test. */
export const test = base.extend<{ connect: (name: TransportName, rights: Rights) => Promise<JobForge> }>({
  connect: async ({ db }, use) => {
    const open: AsyncDisposable[] = [];
    const keep = <T extends AsyncDisposable>(opened: T): T => {
      open.unshift(opened);
      return opened;
    };
    await use(async (name, { role, tenantId }) => {
      if (name === "Postgres") return keep(new JobForge({ database: (await db.createLogin(role)).url }));
      const bridge = keep(name === "HTTP" ? await startBridge(db) : await startServer(db));
      const exp = Math.floor(Date.now() / 1000) + 3600;
      const token = sign({ role, exp, ...(tenantId === undefined ? {} : { tenant_id: tenantId }) });
      return keep(new JobForge({ url: bridge.url, token }));
    });
    for (const opened of open) await opened[Symbol.asyncDispose]();
  },
});

/** Starts a server with only the rights that it needs. */
async function startServer(db: TestDatabase): Promise<AsyncDisposable & { readonly url: string }> {
  const { url: database } = await db.createLogin(
    "jobforge_tenant",
    "jobforge_app",
    "jobforge_worker",
    "jobforge_operator",
    "jobforge_reader",
  );
  const server = createServer({ database, jwtSecret: secret, logger: pino({ level: "silent" }) });
  return { url: await server.listen({ port: 0 }), [Symbol.asyncDispose]: () => server.close() };
}
