/** Behind pgbouncer in transaction mode, where sessions are shared: calls, transactions and waiting. */

import pg from "pg";
import { describe, expect, onTestFinished } from "vitest";
import { claim, complete, T, U } from "../../../sql/test/support/kernel.ts";
import { test } from "../../../test/database.ts";
import { pgbouncer, startPooler } from "../../../test/pooler.ts";
import { ForbiddenError, JobForge, postgresTransport, TimeoutError } from "../src/index.ts";
import { listen } from "../src/transport/postgres/listen.ts";
import { cleanUp, sendMail } from "./support/jobs.ts";

const mail = { to: "ada@example.com", subject: "hello" };

describe.skipIf(pgbouncer === undefined)("behind a pooler", () => {
  async function open(db: { url: string; createLogin(...roles: string[]): Promise<{ url: string }> }) {
    const pooler = await startPooler(db.url);
    const { url } = await db.createLogin("jobforge_app");
    const forge = new JobForge({ database: pooler.through(url), poolMode: "transaction", pool: { max: 20 } });
    onTestFinished(async () => {
      await forge.close();
      await pooler.stop();
    });
    return { forge, url: pooler.through(url) };
  }

  test("many concurrent calls each act for their own tenant, and leave no setting behind", async ({ db }) => {
    const { forge, url } = await open(db);
    const tenants = Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? T : U));
    await Promise.all(tenants.map((tenantId) => forge.enqueue(sendMail, mail, { tenantId })));
    for (const tenantId of [T, U])
      expect((await forge.list({ tenantId, pageSize: 1000 }).page()).items).toHaveLength(100);
    const silent = postgresTransport({ database: url, poolMode: "transaction", nameTenant: false });
    onTestFinished(() => silent.close());
    await expect(silent.call("jobforge_list_jobs", { p_tenant_id: T })).rejects.toThrow(ForbiddenError);
  });

  test("calls work without prepared statements if no option names the pooler", async ({ db }) => {
    const { url } = await open(db);
    const transport = postgresTransport({ database: url, pool: { max: 10 } });
    onTestFinished(() => transport.close());
    const enqueue = { p_tenant_id: T, p_type: "unsaid" };
    for (let round = 0; round < 10; round++)
      await Promise.all(Array.from({ length: 20 }, () => transport.call("jobforge_enqueue_job", enqueue)));
    expect(await db.value("select count(*)::int from jobforge_jobs where type = 'unsaid'")).toBe(200);
  });

  test("transactions and bulk calls work", async ({ db }) => {
    const { forge } = await open(db);
    const jobs = Array.from({ length: 6000 }, () => ({ job: cleanUp, input: {} }));
    const handles = await forge.enqueueMany(jobs, { tenantId: T });
    expect(new Set(handles.map(({ id }) => id)).size).toBe(6000);
    const undone = forge.transport.transaction?.(async (_, inside) => {
      await inside.call("jobforge_enqueue_job", { p_tenant_id: T, p_type: "undone" });
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect((await forge.list({ tenantId: T, type: "undone" }).page()).items).toEqual([]);
  });

  test("waiting for results works by polling", async ({ db }) => {
    const { forge } = await open(db);
    expect(forge.transport.listen).toBeUndefined();
    const handle = await forge.enqueue(sendMail, mail, { tenantId: T });
    const result = handle.result();
    await claim(db);
    await complete(db, handle.id, { result: { messageId: "m" } });
    expect(await result).toEqual({ messageId: "m" });
  });

  test("a LISTEN that would receive nothing is not reported as up", async ({ db }) => {
    const { url } = await open(db);
    const states: unknown[] = [];
    const listener = await listen(
      async () => new pg.Client(url),
      ["jobforge_wake"],
      { onNotification: () => undefined, onState: (state, error) => states.push(state, error) },
      { checkEveryMs: 1000, respondWithinMs: 3000 },
    );
    await listener.close();
    expect(states).toEqual(["down", expect.any(TimeoutError)]);
    expect(String(states[1])).toContain("no transaction-mode pooler");
  });
});
