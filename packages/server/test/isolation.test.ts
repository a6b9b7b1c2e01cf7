/** Isolation of tenants: no route shows or changes the rows of another tenant, whatever the token. */
import type { ArtifactStore } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { bodies, type OpenApi, operationsOf, otherSecret, pathFor, queries } from "./support/operations.ts";
import {
  test as base,
  type RequestOptions,
  type Running,
  sign,
  startServer,
  T,
  U,
} from "./support/server.ts";

/** A store in which the other tenant has an artifact under every name, each with the secret. */
const artifactsOfOther: ArtifactStore = {
  get: async (ref) => {
    if (!ref.includes(`/${U}/`)) throw Object.assign(new Error("none"), { code: "artifact_unavailable" });
    return (async function* () {
      yield Buffer.from(otherSecret);
    })();
  },
  put: async (key) => ({ ref: `artifact:${key}`, bytes: 0, sha256: "" }),
  delete: () => Promise.reject(new Error("not used")),
  list: async function* () {},
};

const test = base.extend<{ http: Running }>({
  http: async ({ db }, use) => {
    await using running = await startServer(db, {
      artifacts: artifactsOfOther,
      webhookSecrets: () => [{ version: 1, secret: otherSecret }],
    });
    await use(running);
  },
});

/** Gives the other tenant jobs, a workflow, a schedule, a connector, an endpoint and audit rows, with the secret. */
async function populateOther(db: TestDatabase): Promise<string[]> {
  const job = { payload: { secret: otherSecret }, subject: otherSecret, tags: [otherSecret] };
  const jobs = ["succeeded", "dead", "running", "queued"].map((type) => ({ ...job, type, max_attempts: 1 }));
  await db.query("select jobforge_enqueue_jobs($1, $2)", [U, JSON.stringify(jobs)]);
  await db.query("select id from jobforge_claim_jobs('w', 3, array['succeeded', 'dead', 'running'])");
  await db.query(
    `select jobforge_complete_job(id, 'w', case type when 'dead' then 'failed' else type end,
       jsonb_build_object('message', $1::text), jsonb_build_object('secret', $1::text))
     from jobforge_jobs where type in ('succeeded', 'dead')`,
    [otherSecret],
  );
  await db.query("select jobforge_ensure_schedule($1, 'queued', 'nightly', $2)", [
    U,
    JSON.stringify({ cron: "@yearly", payload: { secret: otherSecret } }),
  ]);
  await db.query(
    `select jobforge_set_tenant($1, '{"max_pending": 77777}'), jobforge_set_limit('tenant', $1::text, 5)`,
    [U],
  );
  await db.query("select jobforge_set_connector_config($1, 'x', $2)", [
    U,
    JSON.stringify({ url: otherSecret }),
  ]);
  const jobIds = await db.query<{ id: string }>("select id from jobforge_jobs");
  const workflow = await db.value<{ id: string }>("select jobforge_start_workflow($1, $2, $3, $4)", [
    U,
    otherSecret,
    JSON.stringify([
      { name: "a", type: "step", payload: { secret: otherSecret } },
      { name: "b", type: "step" },
      { name: "approve", signal: {} },
    ]),
    JSON.stringify({ secret: otherSecret }),
  ]);
  const endpoint = await db.value<{ id: string }>("select jobforge_set_webhook_endpoint($1, $2)", [
    U,
    JSON.stringify({ url: `https://example.com/${otherSecret}` }),
  ]);
  await db.query("select jobforge_heartbeat_worker('w', '{}')");
  return [...jobIds, workflow, endpoint].map(({ id }) => id);
}

/** All rows of the other tenant, to check that none has changed. */
async function rowsOfOther(db: TestDatabase): Promise<unknown> {
  return [
    await db.query("select * from jobforge_jobs where tenant_id = $1 order by id", [U]),
    await db.query("select * from jobforge_workflows where tenant_id = $1 order by id", [U]),
    await db.query("select * from jobforge_steps where tenant_id = $1 order by id", [U]),
    await db.query("select * from jobforge_schedules where tenant_id = $1 order by id", [U]),
    await db.query("select * from jobforge.tenants where tenant_id = $1", [U]),
    await db.query("select * from jobforge.webhook_endpoints where tenant_id = $1", [U]),
    await db.query("select * from jobforge.limits"),
    await db.query("select * from jobforge.gates"),
  ];
}

/** Every operation of the document with ids of the other tenant, with and without its tenant_id in the query. */
function intrusions(document: OpenApi, ids: readonly string[]): [string, RequestOptions][] {
  return (
    operationsOf(document)
      .filter(({ path }) => path !== "/v1/stream")
      // Deletions come last, because later requests need the rows.
      .sort((a, b) => Number(a.method === "delete") - Number(b.method === "delete"))
      .flatMap(({ path, method }) =>
        ids.flatMap((id) =>
          [queries[`${method} ${path}`] ?? "", `tenant_id=${U}`].map((query): [string, RequestOptions] => [
            `${pathFor(path, { id, tenant_id: U, worker_id: "w", type: "queued", key: "nightly" })}?${query}`,
            { method: method.toUpperCase(), body: bodies[`${method} ${path}`] },
          ]),
        ),
      )
  );
}

/** They send a request for every operation and id. */
const slow = { timeout: 300_000 };

describe.for([
  ["a tenant's token", { role: "jobforge_app", tenant_id: T }],
  ["a Supabase user's token", { role: "authenticated", app_metadata: { tenant_id: T } }],
  ["a token without a tenant", { role: "jobforge_app" }],
  ["a token with a malformed tenant", { role: "jobforge_app", tenant_id: `${U}' or true` }],
  ["a jobforge_tenant token without a binding", { role: "jobforge_tenant", tenant_id: U }],
  ["a reader's token", { role: "jobforge_reader" }],
] as const)("%s", ([, claims]) => {
  test("sees and changes no row of another tenant through /v1", slow, async ({ db, http }) => {
    const ids = await populateOther(db);
    const before = await rowsOfOther(db);
    const token = await sign(claims);
    const document = (await (await http.request("/v1/openapi.json")).json()) as OpenApi;
    const tried = intrusions(document, ids);
    expect(tried.length).toBeGreaterThan(100);
    for (const [path, options] of tried) {
      const response = await http.request(path, { ...options, token });
      expect([path, response.status]).not.toEqual([path, 500]);
      expect([path, await response.text()]).toEqual([path, expect.not.stringContaining(otherSecret)]);
    }
    expect(await rowsOfOther(db)).toEqual(before);
  });

  test("sees and changes no row of another tenant through /rest/v1", slow, async ({ db, http }) => {
    const ids = await populateOther(db);
    const before = await rowsOfOther(db);
    const token = await sign(claims);
    const functions = await db.query<{ name: string; arguments: string[] }>(
      `select p.proname as name, coalesce(p.proargnames[1:p.pronargs], '{}') as arguments
       from pg_proc p where p.pronamespace = 'public'::regnamespace and p.proname like 'jobforge\\_%'`,
    );
    const values: Readonly<Record<string, unknown>> = {
      ...{
        p_tenant_id: U,
        p_job_id: ids[0],
        p_workflow_id: ids.at(-1),
        p_target_id: ids.at(-1),
        p_type: "intruder",
        p_worker_id: "w",
        p_status: "succeeded",
      },
      ...{
        p_filters: { tags: [otherSecret] },
        p_changes: { priority: 9 },
        p_jobs: [{ type: "intruder" }],
        p_results: [],
      },
      ...{
        p_scope: "tenant",
        p_key: U,
        p_paused: true,
        p_role: "jobforge_app",
        p_policy: {},
        p_name: "intruder",
      },
      ...{
        p_options: { cron: "@daily" },
        p_enabled: false,
        p_connector_type: "x",
        p_config: {},
        p_expression: "@daily",
        p_wakes: {},
        p_digest: "0",
        p_token_id: ids[0],
      },
      ...{ p_run_at: "2099-01-01T00:00:00Z", p_progress: {}, p_timezone: "UTC" },
    };
    for (const { name, arguments: parameters } of functions) {
      const known = parameters.filter((parameter) => parameter in values);
      const body = Object.fromEntries(known.map((parameter) => [parameter, values[parameter]]));
      const response = await http.request(`/rest/v1/rpc/${name}`, { token, body });
      expect([name, response.status < 500]).toEqual([name, true]);
      expect([name, await response.text()]).toEqual([name, expect.not.stringContaining(otherSecret)]);
    }
    const views = await db.query<{ name: string }>(
      "select relname as name from pg_class where relkind = 'v' and relname like 'jobforge\\_%' and relnamespace = 'public'::regnamespace",
    );
    for (const { name } of views)
      for (const query of ["", `?tenant_id=eq.${U}`, "?or=(tenant_id.not.is.null,tenant_id.is.null)"]) {
        const response = await http.request(`/rest/v1/${name}${query}`, { token });
        expect([name, await response.text()]).toEqual([name, expect.not.stringContaining(otherSecret)]);
      }
    expect(await rowsOfOther(db)).toEqual(before);
  });
});

/** Where a reader, who counts for all tenants, sees their ids. */
const countedByTenant = ["/v1/tenants", "/v1/limits", "/v1/live", "/v1/usage"];

describe.for([
  ["a tenant's token", { role: "jobforge_app", tenant_id: T }, [], 20],
  ["a Supabase user's token", { role: "authenticated", app_metadata: { tenant_id: T } }, [], 20],
  ["a token without a tenant", { role: "jobforge_app" }, [], 1],
  ["a worker's token", { role: "jobforge_worker" }, [], 1],
  ["a reader's token", { role: "jobforge_reader" }, countedByTenant, 10],
] as const)("%s that names no other tenant", ([, claims, allowed, least]) => {
  test("gets no response with an id of another tenant, or of what it has", slow, async ({ db, http }) => {
    const foreign = [...(await populateOther(db)), ...(await scheduleIds(db))];
    await db.query("select jobforge_enqueue_job($1, 'queued')", [T]);
    await db.query(`select jobforge_ensure_schedule($1, 'queued', 'nightly', '{"cron": "@yearly"}')`, [T]);
    const id = await db.value<string>("select id from jobforge_jobs where tenant_id = $1", [T]);
    const token = await sign(claims);
    const document = (await (await http.request("/v1/openapi.json")).json()) as OpenApi;
    const shown: unknown[] = [];
    const statuses: number[] = [];
    for (const { method, path } of operationsOf(document)) {
      const operation = `${method} ${path}`;
      const body = bodies[operation];
      // The stream does not end: stream.test.ts looks at its events.
      if (path === "/v1/stream" || JSON.stringify([body, queries[operation]]).includes(U)) continue;
      for (const query of ["", "by=tenant", "fields=summary", "figures=true"]) {
        const values = { id, tenant_id: T, worker_id: "w", type: "queued", key: "nightly" };
        const url = `${pathFor(path, values)}?${query}`;
        const response = await http.request(url, { method: method.toUpperCase(), token, body });
        const text = await response.text();
        statuses.push(response.status);
        const seen = [...foreign, ...(allowed.some((each) => path === each) ? [] : [U])];
        if (seen.some((each) => text.includes(each))) shown.push([operation, query, text.slice(0, 500)]);
      }
    }
    expect(shown).toEqual([]);
    expect(statuses.filter((status) => status < 300).length).toBeGreaterThanOrEqual(least);
  });
});

async function scheduleIds(db: TestDatabase): Promise<string[]> {
  const rows = await db.query<{ id: string }>("select id from jobforge_schedules where tenant_id = $1", [U]);
  return rows.map(({ id }) => id);
}

test("an operator can do all of this, so the requests are valid", slow, async ({ db, http }) => {
  const ids = await populateOther(db);
  const token = await sign({ role: "jobforge_operator" });
  const document = (await (await http.request("/v1/openapi.json")).json()) as OpenApi;
  const statuses = new Map<string, number[]>();
  const texts: string[] = [];
  for (const [path, options] of intrusions(document, ids)) {
    const response = await http.request(path, { ...options, token });
    const operation = `${options.method} ${path.replace(/\?.*/, "").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "{id}")}`;
    statuses.set(operation, [...(statuses.get(operation) ?? []), response.status]);
    texts.push(await response.text());
  }
  // No key has the id of a job.
  statuses.delete("DELETE /v1/tokens/{id}");
  for (const [operation, found] of statuses)
    expect([operation, found.some((status) => status < 300)]).toEqual([operation, true]);
  expect(texts.some((text) => text.includes(otherSecret))).toBe(true);
});
