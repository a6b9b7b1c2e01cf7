/** A pooler in transaction mode: requests share few sessions, and leave no state on them. */

import { clientRoles } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { pgbouncer, startPooler } from "../../../test/pooler.ts";
import { appToken, sign, startServer, T, test, U } from "./support/server.ts";

describe.skipIf(pgbouncer === undefined)("a server behind pgbouncer", () => {
  test("serves callers with different roles and tenants at once, each with its own rights", async ({
    db,
  }) => {
    await using pooler = await startPooler(db.url, { sessions: 2 });
    const login = await db.createLogin(...clientRoles);
    await using http = await startServer(db, { database: pooler.through(login.url) });
    await db.query("select jobforge_enqueue_job($1, 'u')", [U]);
    const key = await db.value<{ token: string }>("select jobforge_create_token('k', 'jobforge_app', $1)", [
      T,
    ]);
    const [app, other, operator, withoutTenant] = [
      key.token,
      await appToken(U),
      await sign({ role: "jobforge_operator" }),
      await sign({ role: "jobforge_app" }),
    ];
    const ask = async (token: string, path: string): Promise<[number, number]> => {
      const response = await http.request(path, { token });
      const rows = (await response.json()) as unknown[];
      return [response.status, rows.length];
    };
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const created = await http.request("/v1/jobs", {
          token: app,
          body: { type: "t", idempotency_key: "once" },
        });
        expect([200, 201]).toContain(created.status);
        expect(await ask(other, "/rest/v1/jobforge_jobs?type=eq.t")).toEqual([200, 0]);
        expect(await ask(withoutTenant, "/rest/v1/jobforge_jobs")).toEqual([200, 0]);
        expect(await ask(operator, "/rest/v1/jobforge_jobs")).toEqual([200, 2]);
        expect((await http.request("/v1/gates", { token: app })).status).toBe(403);
      }),
    );
  });
});
