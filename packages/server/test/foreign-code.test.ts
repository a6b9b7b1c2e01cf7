/** The server runs no code of others, even if they may create objects in the API schema. */
import { describe, expect } from "vitest";
import { plantTraps } from "../../../test/planting.ts";
import { appToken, sign, startServer, T, test } from "./support/server.ts";

const views = ["jobs", "job_attempts", "job_results", "connector_configs", "audit_log", "schedules", "usage"];

test("requests run into no trap in place of the names that statements use", async ({ db }) => {
  const traps = await plantTraps(db);
  await using http = await startServer(db);
  const [app, operator] = [await appToken(T), await sign({ role: "jobforge_operator" })];
  const created = await http.request("/v1/jobs", { token: app, body: { type: "mail", tags: ["x"] } });
  expect(created.status).toBe(201);
  const { id } = (await created.json()) as { id: string };
  const key = await http.request("/v1/tokens", {
    token: operator,
    body: { name: "k", role: "jobforge_reader" },
  });
  const { token } = (await key.json()) as { token: string };
  const described = (await (await http.request("/v1/openapi.json")).json()) as {
    paths: Record<string, object>;
  };
  const paths = [
    ...Object.entries(described.paths)
      .filter(([path, methods]) => "get" in methods && !path.includes("stream"))
      .map(([path]) => path.replace("{id}", id).replace(/\{tenant\w*\}/, T)),
    "/readyz",
    "/metrics",
    "/rest/v1/rpc/jobforge_list_jobs?p_tenant_id=11111111-1111-4111-8111-111111111111&status=eq.queued&order=created_at.desc",
    "/rest/v1/rpc/jobforge_stats",
    ...views.map((view) => `/rest/v1/jobforge_${view}?limit=5`),
    "/rest/v1/jobforge_jobs?select=id,p:payload->>x,created_at::date&tags=cs.{x}&type=in.(mail,a)&subject=is.null&status=like.q*&order=id",
  ];
  for (const path of paths)
    for (const [who, bearer] of Object.entries({ app, operator, key: token })) {
      const { status } = await http.request(path, { token: bearer });
      expect(status, `${path} as ${who}`).toBeLessThan(500);
      if (path.startsWith("/rest/v1/jobforge_") && who !== "key") expect(status, path).toBe(200);
    }
  expect(await traps.caught()).toBeUndefined();
});

describe("a login that may create objects in the API schema", () => {
  test("cannot run code in the requests of others", async ({ db }) => {
    await db.query(
      `create function public.to_json(x jsonb) returns json language plpgsql as $$ begin raise exception 'stolen'; end $$`,
    );
    await using http = await startServer(db);
    const created = await http.request("/v1/jobs", { token: await appToken(T), body: { type: "mail" } });
    expect(created.status).toBe(201);
  });

  test("cannot stand in for a function, which the server then refuses to call", async ({ db }) => {
    const { role, url } = await db.createLogin();
    await db.query(`grant create on schema public to ${role}`);
    const stranger = await db.connect(url);
    await stranger.query(
      "create function public.jobforge_stats(p_tenant_id uuid) returns jsonb language sql as $$ select '{}'::jsonb $$",
    );
    await using http = await startServer(db);
    const token = await appToken(T);
    const refused = await http.request("/v1/stats", { token });
    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain("jobforge doctor");
    expect((await http.request("/rest/v1/rpc/jobforge_stats", { token })).status).toBe(503);
    expect((await http.request("/v1/jobs", { token })).status).toBe(200);
  });
});
