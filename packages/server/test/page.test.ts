/** The page at `/`. */
import { createHash } from "node:crypto";
import { Script } from "node:vm";
import { expect } from "vitest";
import { appToken, startServer, T, test, U } from "./support/server.ts";

const evil = `<script>alert("1")</script>&'`;

test("the page shows counts, schedules and recent jobs, and escapes every value", async ({ db }) => {
  await using http = await startServer(db, { anonymousRole: "jobforge_operator" });
  await db.query("select jobforge_set_tenant($1, jsonb_build_object('label', $2::text))", [T, evil]);
  await db.query("select jobforge_enqueue_job($1, 'break')", [T]);
  await db.query(
    `select jobforge_complete_job(id, 'w', 'failed', jsonb_build_object('message', $1::text)) from jobforge_claim_jobs('w')`,
    [evil],
  );
  // The retry is not due before the page is read, however slow the machine is.
  await db.query("update jobforge.queue set run_at = run_at + interval '1 day'");
  await db.query("select jobforge_enqueue_job($1, 'mail', p_run_at => now() + interval '1 day')", [T]);
  await db.query(`select jobforge_ensure_schedule($1, 'report', $2, '{"cron": "0 9 * * mon"}')`, [T, evil]);
  await db.query(`select jobforge_ensure_schedule($1, 'sweep', 'all', '{"every": "90m"}')`, [U]);
  const response = await http.request("/");
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=UTF-8"]);
  const text = await response.text();
  expect(text).not.toContain("<script>alert");
  const escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;";
  // The error, the key of the schedule, and the label of the tenant of each of the two jobs and of the schedule.
  expect(text.split(escaped)).toHaveLength(6);
  expect(text.match(/<th scope="col">Tenant<\/th>/g)).toHaveLength(2);
  expect(text).toContain('<td class="word">retrying</td>');
  expect(text).toContain('<td class="word">scheduled</td>');
  expect(text).toContain('<td class="word">0 9 * * mon (UTC)</td>');
  expect(text).toContain('<td class="word">every 1h30m</td>');
  const [, row = ""] = /<tbody><tr>(.*?)<\/tr>/.exec(text) ?? [];
  expect([...row.matchAll(/>(\d+)</g)].map(([, count]) => Number(count))).toEqual([0, 2, 0, 0, 0, 0, 0]);
});

test("an error opens to show its stack and its causes, escaped", async ({ db }) => {
  await using http = await startServer(db, { anonymousRole: "jobforge_operator" });
  await db.query("select jobforge_enqueue_job($1, 'mail')", [T]);
  const cause = { name: "Error", message: evil, stack: `Error: ${evil}\n    at connect (net.ts:1:1)` };
  const error = {
    name: "TypeError",
    message: "fetch failed",
    stack: "TypeError: fetch failed\n    at send (a.ts:3:5)",
    cause,
  };
  await db.query("select jobforge_complete_job(id, 'w', 'failed', $1) from jobforge_claim_jobs('w')", [
    JSON.stringify(error),
  ]);
  const text = await (await http.request("/")).text();
  const [, summary, trace] =
    /<details id="[^"]+"><summary>(.*?)<\/summary><pre>([\s\S]*?)<\/pre>/.exec(text) ?? [];
  const escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;";
  expect(summary).toBe(`fetch failed: ${escaped}`);
  expect(trace?.split("\n")).toEqual([
    "TypeError: fetch failed",
    "    at send (a.ts:3:5)",
    `Caused by: Error: ${escaped}`,
    "    at connect (net.ts:1:1)",
  ]);
});

test("the page runs its own script and style only", async ({ db }) => {
  await using http = await startServer(db, { anonymousRole: "jobforge_operator" });
  const response = await http.request("/");
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain("unsafe");
  const text = await response.text();
  const inline = [...text.matchAll(/<(script|style)[^>]*>([\s\S]*?)<\/\1>/g)];
  expect(inline.map(([, name]) => name)).toEqual(["style", "script"]);
  for (const [, name, content = ""] of inline)
    expect(policy).toContain(`${name}-src 'sha256-${createHash("sha256").update(content).digest("base64")}'`);
  // packages/cli/test/browser.test.ts runs the script where a browser is available.
  expect(() => new Script(inline[1]?.[2] ?? "(")).not.toThrow();
  expect(text).not.toMatch(/ (style|on\w+)=/);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect((await http.request("/favicon.ico")).status).toBe(204);
});

test("the page needs a token, and shows only what the token may see", async ({ http, db }) => {
  expect((await http.request("/")).status).toBe(401);
  await db.query("select jobforge_enqueue_job($1, 'mine')", [T]);
  await db.query("select jobforge_enqueue_job($1, 'theirs')", [U]);
  const text = await (await http.request("/", { token: await appToken(T) })).text();
  expect(text).toContain("mine");
  expect(text).not.toContain("theirs");
});

test("the page shows times that JavaScript cannot represent", async ({ db }) => {
  await using http = await startServer(db, { anonymousRole: "jobforge_operator" });
  await db.query("select jobforge_enqueue_job($1, 'late')", [T]);
  // The kernel rejects such a time, but older rows may contain one.
  await db.query("update jobforge.queue set run_at = '200000-01-01Z'");
  const response = await http.request("/");
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('<td class="word">200000-01-01T');
});

test("the page says that there are no jobs", async ({ db }) => {
  await using http = await startServer(db, { anonymousRole: "jobforge_operator" });
  expect(await (await http.request("/")).text()).toContain("No jobs yet.");
});
