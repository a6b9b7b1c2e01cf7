/** /v1/stream. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { openEvents, type StreamEvent } from "../support/events.ts";
import { appToken, sign, startServer, T, test, U } from "../support/server.ts";

const isFinished = ({ event }: StreamEvent): boolean => event === "finished";
const isChanged =
  (counts: object) =>
  ({ event, data }: StreamEvent): boolean =>
    event === "changed" && Object.entries(counts).every(([name, value]) => data[name] === value);

async function enqueue(
  db: TestDatabase,
  tenant: string,
  type: string,
  subject: string | null = null,
): Promise<void> {
  await db.query("select jobforge_enqueue_job($1, $2, p_subject => $3)", [tenant, type, subject]);
}

async function finish(db: TestDatabase): Promise<void> {
  await db.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 100)");
}

describe("a stream", () => {
  test("sends the counts at once, and then changes and finished jobs", async ({ db, http }) => {
    await enqueue(db, T, "a");
    await using events = await openEvents(`${http.url}/v1/stream`, await appToken(T));
    expect(events.status).toBe(200);
    await events.next(isChanged({ queued: 1, running: 0 }));
    await enqueue(db, T, "a", "order-1");
    await events.next(isChanged({ queued: 2 }));
    await finish(db);
    const { data } = await events.next(isFinished);
    expect(data).toMatchObject({ status: "succeeded", tenant_id: T, type: "a" });
    expect(data).not.toHaveProperty("payload");
    await events.next(isFinished);
    await events.next(isChanged({ queued: 0, running: 0 }));
  });

  test("contains only jobs of the caller's tenant that match the filter", async ({ db, http }) => {
    await using own = await openEvents(`${http.url}/v1/stream`, await appToken(T));
    await using typed = await openEvents(`${http.url}/v1/stream?type=b&type=c`, await appToken(T));
    await using all = await openEvents(`${http.url}/v1/stream`, await sign({ role: "jobforge_operator" }));
    await using foreign = await openEvents(`${http.url}/v1/stream?tenant_id=${U}`, await appToken(T));
    await using subject = await openEvents(`${http.url}/v1/stream?subject=s`, await appToken(T));
    await enqueue(db, U, "a");
    await enqueue(db, T, "a", "s");
    await enqueue(db, T, "b");
    await finish(db);
    for (let count = 0; count < 3; count += 1) await all.next(isFinished);
    for (let count = 0; count < 2; count += 1) await own.next(isFinished);
    expect((await typed.next(isFinished)).data).toMatchObject({ type: "b" });
    expect((await subject.next(isFinished)).data).toMatchObject({ type: "a" });
    // One more job. When it arrives, all earlier events have arrived as well.
    await enqueue(db, T, "b", "s");
    await finish(db);
    for (const each of [own, typed, subject]) await each.next(isFinished);
    const tenants = [own, typed, subject].flatMap(({ all }) =>
      all.filter(isFinished).map(({ data }) => data["tenant_id"]),
    );
    expect(new Set(tenants)).toEqual(new Set([T]));
    expect(foreign.all.filter(isFinished)).toEqual([]);
    expect(foreign.all.every(isChanged({ queued: 0, running: 0 }))).toBe(true);
  });

  test("says that a workflow of the tenant has ended, unless it filters by type", async ({ db, http }) => {
    const isWorkflow = ({ event }: StreamEvent): boolean => event === "workflow";
    const start = async (tenant: string): Promise<string> => {
      const steps = '[{"name": "one", "type": "a"}]';
      const started = await db.value<{ id: string }>(
        "select jobforge_start_workflow($1, 'mail', $2, '{}', '{\"subject\": \"s\"}')",
        [tenant, steps],
      );
      return started.id;
    };
    await using own = await openEvents(`${http.url}/v1/stream?subject=s`, await appToken(T));
    await using typed = await openEvents(`${http.url}/v1/stream?type=a`, await appToken(T));
    await start(U);
    const id = await start(T);
    await finish(db);
    const { data } = await own.next(isWorkflow);
    expect(data).toMatchObject({ id, tenant_id: T, name: "mail", status: "succeeded", reason: "done" });
    expect(Object.keys(data)).not.toContain("input");
    expect(Object.keys(data)).not.toContain("kind");
    await typed.next(isFinished);
    expect([...own.all.filter(isWorkflow), ...typed.all.filter(isWorkflow)]).toHaveLength(1);
  });

  test("continues at the cursor after a disconnect", async ({ db, http }) => {
    const token = await appToken(T);
    await enqueue(db, T, "a");
    let last = "";
    {
      await using events = await openEvents(`${http.url}/v1/stream`, token);
      await events.next(isChanged({ queued: 1 }));
      await finish(db);
      last = (await events.next(isFinished)).id;
    }
    await enqueue(db, T, "b");
    await finish(db);
    await using again = await openEvents(`${http.url}/v1/stream`, token, { "last-event-id": last });
    await again.next(({ event, data }) => event === "finished" && data["type"] === "b");
    await using nonsense = await openEvents(`${http.url}/v1/stream`, token, { "last-event-id": "' or 1" });
    await nonsense.next(isChanged({ queued: 0 }));
    expect(nonsense.all.filter(isFinished)).toEqual([]);
  });

  test("sends a job once, although it is read several times", async ({ db, http }) => {
    await using events = await openEvents(`${http.url}/v1/stream`, await appToken(T));
    for (const type of ["a", "b", "c", "d"]) {
      await enqueue(db, T, type);
      await finish(db);
      await events.next(isFinished);
    }
    expect(events.all.filter(isFinished).map(({ data }) => data["type"])).toEqual(["a", "b", "c", "d"]);
  });

  test("sends the newest finished jobs, and says when there were more", async ({ db, http }) => {
    await using events = await openEvents(`${http.url}/v1/stream`, await appToken(T));
    await events.next(isChanged({ queued: 0 }));
    const jobs = JSON.stringify(Array.from({ length: 300 }, () => ({ type: "a" })));
    await db.query("select jobforge_enqueue_jobs($1, $2)", [T, jobs]);
    await db.query("select jobforge_cancel_jobs($1, $2)", [T, '{"type": "a"}']);
    const { data } = await events.next(isChanged({ more: true }));
    expect(data["finished"]).toBe(200);
  });

  test("tells due from scheduled jobs, and shows readers counts but no job", async ({ db, http }) => {
    await using reader = await openEvents(`${http.url}/v1/stream`, await sign({ role: "jobforge_reader" }));
    await enqueue(db, T, "a");
    await db.query("select jobforge_enqueue_job($1, 'a', p_run_at => now() + interval '1 hour')", [T]);
    await reader.next(isChanged({ queued: 1, scheduled: 1, running: 0, exact: true }));
    await finish(db);
    await reader.next(isChanged({ queued: 0, scheduled: 1 }));
    expect(reader.all.filter(isFinished)).toEqual([]);
  });

  test("says which kinds of things were changed, if asked", async ({ db, http }) => {
    const isNews = ({ event }: StreamEvent): boolean => event === "changes";
    const operator = await sign({ role: "jobforge_operator" });
    await using all = await openEvents(`${http.url}/v1/stream?changes=true`, operator);
    await using own = await openEvents(`${http.url}/v1/stream?changes=true`, await appToken(T));
    await using silent = await openEvents(`${http.url}/v1/stream`, operator);
    for (const each of [all, own, silent]) await each.next(isChanged({ queued: 0 }));
    await db.query("select jobforge_set_gate('type', 'a', true)");
    expect((await all.next(isNews)).data).toMatchObject({ kinds: ["gate"], more: false });
    await db.query("select jobforge_heartbeat_worker('w', '{}')");
    expect((await all.next(isNews)).data).toMatchObject({ kinds: ["worker"] });
    await db.query("select jobforge_ensure_schedule($1, 'a', 'k', '{\"every\": \"1h\"}')", [T]);
    expect((await own.next(isNews)).data).toMatchObject({ kinds: ["schedule"] });
    expect((await all.next(isNews)).data).toMatchObject({ kinds: ["schedule"] });
    // When the job arrives, everything before it has arrived as well.
    await enqueue(db, T, "b");
    for (const each of [all, own, silent]) await each.next(isChanged({ queued: 1 }));
    expect(own.all.filter(isNews)).toHaveLength(1);
    expect(silent.all.filter(isNews)).toEqual([]);
  });

  test("is refused to roles that may not see jobs, and ends when its token is revoked", async ({
    http,
    db,
  }) => {
    const refused = await http.request("/v1/stream", { token: await sign({ role: "jobforge_worker" }) });
    expect([refused.status, refused.headers.get("content-type")]).toEqual([403, "application/problem+json"]);
    expect((await http.request("/v1/stream")).status).toBe(401);
    const key = await db.value<{ id: string; token: string }>(
      "select jobforge_create_token('x', 'jobforge_app', $1)",
      [T],
    );
    await using events = await openEvents(`${http.url}/v1/stream`, key.token);
    await events.next(isChanged({ queued: 0 }));
    await db.query("select jobforge_revoke_token($1)", [key.id]);
    await events.next(({ event }) => event === "end");
    await events.end();
  });

  test("ends when the server closes, without delaying it", async ({ db }) => {
    const http = await startServer(db);
    await using events = await openEvents(`${http.url}/v1/stream`, await appToken(T));
    await events.next(isChanged({ queued: 0 }));
    await http.server.close();
    await events.end();
    expect(events.ended).toBe(true);
  });
});
