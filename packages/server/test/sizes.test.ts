/** Answers are bounded by bytes, whatever a caller asks for. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect, test as plain } from "vitest";
import { maxBytesOf, readRows, readValue } from "../src/answers.ts";
import { type Client, test } from "./support/client.ts";
import { appToken, sign, T } from "./support/server.ts";

const mib = 1024 * 1024;
const maxAnswer = 16 * mib;

/** Enqueues jobs with a payload of almost 1 MiB. They compress well, so the database has little to store. */
async function enqueueLarge(db: TestDatabase, count: number): Promise<string[]> {
  const made = await db.query<{ id: string }>(
    `select jobforge_enqueue_job($1, 'a', to_jsonb(repeat('a', $2))) ->> 'id' as id from generate_series(1, $3::int)`,
    [T, mib - 100, count],
  );
  return made.map(({ id }) => id).reverse();
}

interface Page {
  readonly items: readonly { readonly id: string }[];
  readonly cursor: string | null;
}

/** Follows the cursor to the last page. Returns the ids of each page. */
async function pagesOf(client: Client, path: string): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const reply = await client(`${path}${cursor === null ? "" : `&cursor=${cursor}`}`);
    const page = reply.body as unknown as Page;
    pages.push(page.items.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== null);
  return pages;
}

describe("with 20 jobs of almost 1 MiB,", () => {
  test("pages of /v1/jobs have fewer jobs than their limit, and cursors lead to all of them", async ({
    db,
    app,
    operator,
  }) => {
    const ids = await enqueueLarge(db, 20);
    for (const client of [app, operator]) {
      const pages = await pagesOf(client, "/v1/jobs?limit=1000");
      expect(pages.flat()).toEqual(ids);
      expect(pages.map((page) => page.length).slice(0, 2)).toEqual([8, 8]);
    }
  });

  test("views are read up to 16 MiB, and beyond that the error says what to do", async ({ db, http }) => {
    await enqueueLarge(db, 20);
    const token = await appToken(T);
    const read = (query: string): Promise<Response> =>
      http.request(`/rest/v1/jobforge_jobs?${query}`, { token });
    const few = await read("limit=15");
    expect(few.status).toBe(200);
    expect((await few.text()).length).toBeLessThan(maxAnswer);
    for (const query of [
      "",
      "select=payload&limit=17",
      "select=p:payload",
      "order=created_at",
      "select=p:payload::text",
    ]) {
      const refused = await read(query);
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { code: "54000", hint: expect.stringContaining("fewer rows") },
      ]);
    }
    expect((await read("select=id")).status).toBe(200);
  });

  test("claims over HTTP are larger than other answers may be, and never refused", async ({ db, http }) => {
    await enqueueLarge(db, 20);
    const token = await sign({ role: "jobforge_worker" });
    const counts: number[] = [];
    for (const name of ["jobforge_claim_jobs", "jobforge_settle_jobs_text"]) {
      const body = name.endsWith("text")
        ? { p_worker_id: "w", p_results: [], p_claim_limit: 100 }
        : { p_worker_id: "w", p_limit: 100 };
      const response = await http.request(`/rest/v1/rpc/${name}`, { token, body });
      expect(response.status).toBe(200);
      const reply = (await response.json()) as unknown[];
      counts.push(name.endsWith("text") ? JSON.parse(reply.join("")).jobs.length : reply.length);
    }
    expect(counts).toEqual([16, 4]);
  });

  test("functions that return rows return a page", async ({ db, http }) => {
    const ids = await enqueueLarge(db, 20);
    const token = await appToken(T);
    const response = await http.request("/rest/v1/rpc/jobforge_list_jobs", {
      token,
      body: { p_tenant_id: T, p_filters: { limit: 1000 } },
    });
    expect(((await response.json()) as { id: string }[]).map(({ id }) => id)).toEqual(ids.slice(0, 8));
  });
});

plain.each([
  [true, "at most 16 MiB"],
  [false, "at most 256 MiB"],
])(
  "if a function that only reads (%s) returns too much, the error says how much it may",
  (readsOnly, hint) => {
    const most = maxBytesOf({ readsOnly });
    const rows = [{ isTooLarge: true, text: "[]", bytes: 0, count: 0, last: null }];
    const refused = {
      failure: expect.objectContaining({ code: "54000", hint: expect.stringContaining(hint) }),
    };
    expect(() => readRows(rows, most)).toThrow(expect.objectContaining(refused));
    expect(() => readValue([{ text: null, bytes: most + 1 }], most)).toThrow(
      expect.objectContaining(refused),
    );
  },
);

test("a column is selected once, whatever it is called", async ({ http }) => {
  const token = await appToken(T);
  const select = async (text: string): Promise<unknown> => {
    const response = await http.request(`/rest/v1/jobforge_jobs?select=${encodeURIComponent(text)}`, {
      token,
    });
    return [response.status, ((await response.json()) as { code?: string }).code];
  };
  for (const text of [
    "a:payload,b:payload",
    "payload,payload",
    "*,*",
    "payload::text,p:payload",
    "payload->a,x:payload->a",
    "payload->a,payload->>a",
    // Other spellings of an index.
    "payload->0,x:payload->00",
    "payload->a->1,x:payload->a->>01",
    // A part, and what contains it.
    "payload,x:payload->a",
    "payload->a->b,x:payload->a",
    "payload->>a,p:payload::text",
  ])
    expect(await select(text), text).toEqual([400, "42701"]);
  for (const text of [
    "*,p:payload",
    "*,payload->a",
    "payload->a,payload->b",
    "payload->a->b,payload->a->c,payload->ab",
    "payload->0,payload->1,payload->a",
    "payload->a->0,payload->b->0",
    "id,payload,type",
  ])
    expect(await select(text), text).toEqual([200, undefined]);
  const parts = Array.from({ length: 33 }, (_, index) => `payload->${index}`);
  expect(await select(`id,type,${parts.slice(1).join(",")}`)).toEqual([200, undefined]);
  expect(await select(parts.join(","))).toEqual([400, "54011"]);
});

test("a column may have any name, also that of the row in the statement", async ({ http }) => {
  const token = await appToken(T);
  await http.request("/v1/jobs", { token, body: { type: "a", payload: { x: 1 } } });
  for (const name of ["p", "i", "m", "a", "s", "v", "r", "item", "id", "total", "text", "measured", "page"]) {
    const response = await http.request(`/rest/v1/jobforge_jobs?select=${name}:payload`, { token });
    expect(await response.json(), name).toEqual([{ [name]: { x: 1 } }]);
  }
});

test("attempts have pages of 200, with a cursor", async ({ db, app }) => {
  const { body } = await app("/v1/jobs", { body: { type: "a" } });
  await db.query(
    `insert into jobforge.attempts (job_id, attempt_no, tenant_id, status, worker_id, started_at, finished_at)
     select $1, n, $2, 'deferred', 'w', now(), now() from generate_series(1, 250) n`,
    [body["id"], T],
  );
  const path = `/v1/jobs/${body["id"]}/attempts`;
  const first = await app(path);
  expect(first.body).toMatchObject({ items: { length: 200 }, cursor: "200" });
  expect((await app(`${path}?cursor=200`)).body).toMatchObject({ items: { length: 50 }, cursor: null });
  expect((await app(`${path}?cursor=x`)).status).toBe(400);
});

test("no view and no list returns more than 16 MiB, whatever its rows have", async ({ db, http }) => {
  await enqueueLarge(db, 36);
  for (let n = 0; n < 2; n += 1)
    await db.query(
      `select jobforge_complete_job(id, 'w', 'succeeded', p_result => payload) from jobforge_claim_jobs('w', 100)`,
    );
  const views = await db.query<{ name: string }>(
    "select viewname as name from pg_views where schemaname = 'public' and viewname like 'jobforge%'",
  );
  const document = (await (await http.request("/v1/openapi.json")).json()) as {
    paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const lists = Object.entries(document.paths).flatMap(([path, methods]) =>
    "get" in methods && !path.includes("{") && path !== "/v1/stream" ? [path] : [],
  );
  expect(views.length).toBeGreaterThan(5);
  expect(lists.length).toBeGreaterThan(10);
  const refused: string[] = [];
  for (const claims of [{ role: "jobforge_app", tenant_id: T }, { role: "jobforge_operator" }]) {
    const token = await sign(claims);
    for (const path of [...views.map(({ name }) => `/rest/v1/${name}`), ...lists]) {
      const response = await http.request(path, { token });
      const text = await response.text();
      expect(text.length, path).toBeLessThanOrEqual(maxAnswer + 1000);
      if (text.includes("54000")) refused.push(path);
    }
  }
  expect(new Set(refused)).toEqual(new Set(["/rest/v1/jobforge_jobs", "/rest/v1/jobforge_job_results"]));
});
