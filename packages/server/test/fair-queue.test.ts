/** Connections are shared fairly between callers. */
import { describe, expect, test as plain } from "vitest";
import { FairQueue } from "../src/fair-queue.ts";
import { appToken, sign, startServer, T, test, U } from "./support/server.ts";

/** Work that is in progress until the test ends it. Records the order in which work begins. */
class Work {
  readonly begun: string[] = [];
  readonly #ends: (() => void)[] = [];

  readonly begin = (name: string) => async (): Promise<string> => {
    this.begun.push(name);
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    return name;
  };

  /** Ends the oldest work, and waits until the work that follows has begun. */
  async endFirst(): Promise<void> {
    this.#ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("a fair queue", () => {
  plain("gives one caller its part of the places, and the rest to others", async () => {
    const queue = new FairQueue({ size: 4, perCaller: 2 });
    const work = new Work();
    for (const name of ["a1", "a2", "a3", "a4"]) void queue.run("a", work.begin(name));
    expect([work.begun, queue.waiting]).toEqual([["a1", "a2"], 2]);
    for (const name of ["b1", "b2", "b3"]) void queue.run("b", work.begin(name));
    expect([work.begun, queue.waiting]).toEqual([["a1", "a2", "b1", "b2"], 3]);
    for (let count = 0; count < 7; count += 1) await work.endFirst();
    expect(work.begun).toEqual(["a1", "a2", "b1", "b2", "a3", "a4", "b3"]);
    expect(queue.waiting).toBe(0);
  });

  plain("serves waiting callers in turn, however many requests one of them has", async () => {
    const queue = new FairQueue({ size: 1, perCaller: 1 });
    const work = new Work();
    for (let count = 1; count <= 120; count += 1) void queue.run("a", work.begin(`a${count}`));
    void queue.run("b", work.begin("b1"));
    void queue.run("b", work.begin("b2"));
    void queue.run("c", work.begin("c1"));
    for (let count = 0; count < 7; count += 1) await work.endFirst();
    expect(work.begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4", "a5"]);
  });

  plain("serves waiting groups in turn, and the callers of a group in turn", async () => {
    const queue = new FairQueue({ size: 1, perCaller: 1 });
    const work = new Work();
    for (let user = 1; user <= 50; user += 1)
      for (const name of [`a${user}`, `a${user} again`])
        void queue.run(`a${user}`, work.begin(name), { group: "tenant a" });
    for (const name of ["b1", "b2"]) void queue.run("b", work.begin(name), { group: "tenant b" });
    void queue.run("operator", work.begin("operator"));
    for (let count = 0; count < 7; count += 1) await work.endFirst();
    expect(work.begun).toEqual(["a1", "a1 again", "b1", "operator", "a2", "b2", "a3", "a4"]);
  });

  plain("a group leaves a quarter of the places free for groups that hold none", async () => {
    const queue = new FairQueue({ size: 8, perCaller: 4 });
    const work = new Work();
    for (const caller of ["a1", "a2", "a3"])
      for (let count = 0; count < 4; count += 1) void queue.run(caller, work.begin("a"), { group: "a" });
    expect([work.begun.length, queue.waiting]).toEqual([6, 6]);
    // One place for each group that holds none, so one more group cannot take what is left.
    for (let count = 0; count < 3; count += 1) void queue.run("b", work.begin("b"), { group: "b" });
    void queue.run("c", work.begin("c"), { group: "c" });
    expect([work.begun.slice(6), queue.waiting]).toEqual([["b", "c"], 8]);
    // Until a quarter is free again, no place of the first group goes to a group that holds one.
    await work.endFirst();
    await work.endFirst();
    expect(work.begun.slice(8)).toEqual([]);
    void queue.run("d", work.begin("d"), { group: "d" });
    expect(work.begun.slice(8)).toEqual(["d"]);
    for (let count = 0; count < 17; count += 1) await work.endFirst();
    expect([work.begun.length, queue.waiting]).toEqual([17, 0]);
  });

  plain("admits two when a group gives back its only place", async () => {
    const queue = new FairQueue({ size: 4, perCaller: 4 });
    const work = new Work();
    for (const name of ["b1", "b2"]) void queue.run("b", work.begin(name), { group: "b" });
    void queue.run("a", work.begin("a1"), { group: "a" });
    void queue.run("b", work.begin("b3"), { group: "b" });
    void queue.run("a", work.begin("a2"), { group: "a" });
    await work.endFirst();
    await work.endFirst();
    expect(work.begun).toEqual(["b1", "b2", "a1", "b3", "a2"]);
  });

  plain.each([1, 2, 3])(
    "a group has at least one of %i places, and leaves at least one if there are more",
    (size) => {
      const queue = new FairQueue({ size, perCaller: size });
      const work = new Work();
      for (const caller of ["a", "b", "c"]) void queue.run(caller, work.begin(caller), { group: "tenant" });
      expect(work.begun.length).toBe(Math.max(1, size - 1));
    },
  );

  plain("a request without a group may take the last places", () => {
    const queue = new FairQueue({ size: 4, perCaller: 2 });
    const work = new Work();
    for (const caller of ["a", "a", "b", "b"])
      void queue.run(caller, work.begin(caller), { group: "tenant" });
    void queue.run("server", work.begin("own"));
    expect(work.begun).toEqual(["a", "a", "b", "own"]);
  });

  plain("refuses requests beyond those that one caller may have waiting", async () => {
    const queue = new FairQueue({ size: 1, perCaller: 1, maxWaiting: 2 });
    const work = new Work();
    for (const name of ["a1", "a2", "a3"]) void queue.run("a", work.begin(name));
    await expect(queue.run("a", work.begin("a4"))).rejects.toMatchObject({
      status: 429,
      headers: { "retry-after": "1" },
    });
    const other = queue.run("b", work.begin("b1"));
    for (let count = 0; count < 4; count += 1) await work.endFirst();
    expect(await other).toBe("b1");
    expect(work.begun).toEqual(["a1", "a2", "b1", "a3"]);
  });

  plain("gives no place to a request whose client has gone, or that waited too long", async () => {
    const queue = new FairQueue({ size: 1, perCaller: 1, timeoutMs: 1 });
    const work = new Work();
    void queue.run("a", work.begin("a1"));
    const gone = new AbortController();
    const aborted = queue.run("b", work.begin("b1"), { signal: gone.signal });
    gone.abort();
    await expect(aborted).rejects.toMatchObject({ status: 499 });
    await expect(queue.run("b", work.begin("b2"), { signal: gone.signal })).rejects.toMatchObject({
      status: 499,
    });
    await expect(queue.run("b", work.begin("b3"))).rejects.toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
    });
    await work.endFirst();
    expect([work.begun, queue.waiting]).toEqual([["a1"], 0]);
    void queue.run("b", work.begin("b4"));
    expect(work.begun).toEqual(["a1", "b4"]);
  });

  plain("frees the place of work that fails", async () => {
    const queue = new FairQueue({ size: 1, perCaller: 1 });
    const fail = (): Promise<never> => Promise.reject(new Error("failed"));
    await expect(queue.run("a", fail)).rejects.toThrow("failed");
    expect(await queue.run("a", async () => "done")).toBe("done");
  });
});

/** How many sessions of the server wait for the test's lock. */
const lockedSessions = `select count(*)::int from pg_stat_activity
  where application_name = 'jobforge-server' and wait_event_type = 'Lock' and datname = current_database()`;

test("a caller whose requests all block leaves connections to other callers", async ({ db }) => {
  await using http = await startServer(db, { poolSize: 4, waitingPerCaller: 150 });
  const job = await db.value<{ id: string }>("select jobforge_enqueue_job($1, 'a')", [T]);
  await using other = await db.connect();
  await other.query("begin");
  await other.query("select id from jobforge.queue where id = $1 for update", [job.id]);
  const slow = async (sub: string): Promise<number> => {
    // Each request has a token of its own. They are one caller, because they have the same subject.
    const token = await sign({ role: "jobforge_app", tenant_id: T, sub, jti: crypto.randomUUID() });
    const change = { method: "PATCH", token, body: { priority: 1 } };
    return (await http.request(`/v1/jobs/${job.id}`, change)).status;
  };
  const blocked = Array.from({ length: 120 }, () => slow("a"));
  await expect.poll(() => db.value(lockedSessions)).toBe(2);
  const { token: key } = await db.value<{ token: string }>(
    "select jobforge_create_token('k', 'jobforge_app', $1)",
    [U],
  );
  for (const token of [await appToken(U), key, await sign({ role: "jobforge_operator" })])
    for (let count = 0; count < 3; count += 1)
      expect((await http.request(`/v1/tenants/${U}`, { token })).status).toBe(200);
  expect((await http.request("/readyz")).status).toBe(200);
  expect(await db.value(lockedSessions)).toBe(2);
  await other.query("rollback");
  expect(new Set(await Promise.all(blocked))).toEqual(new Set([200]));
});

test("the subjects and keys of one tenant leave connections to others", async ({ db }) => {
  await using http = await startServer(db, { poolSize: 4 });
  const job = await db.value<{ id: string }>("select jobforge_enqueue_job($1, 'a')", [T]);
  const createKey = async (tenant: string): Promise<string> =>
    (await db.value<{ token: string }>("select jobforge_create_token('k', 'jobforge_app', $1)", [tenant]))
      .token;
  const keys = [await createKey(T), await createKey(T)];
  // The server knows the tenant of a key that it has accepted.
  for (const token of keys) expect((await http.request("/v1/jobs", { token })).status).toBe(200);
  const subjects = ["a", "b"].map((sub) => sign({ role: "jobforge_app", tenant_id: T, sub }));
  await using other = await db.connect();
  await other.query("begin");
  await other.query("select id from jobforge.queue where id = $1 for update", [job.id]);
  const blocked = [...keys, ...(await Promise.all(subjects))].flatMap((token) =>
    Array.from({ length: 3 }, () =>
      http.request(`/v1/jobs/${job.id}`, { method: "PATCH", token, body: { priority: 1 } }),
    ),
  );
  await expect.poll(() => db.value(lockedSessions)).toBe(3);
  for (const token of [await appToken(U), await createKey(U), await sign({ role: "jobforge_operator" })])
    expect((await http.request(`/v1/tenants/${U}`, { token })).status).toBe(200);
  expect((await http.request("/readyz")).status).toBe(200);
  expect(await db.value(lockedSessions)).toBe(3);
  await other.query("rollback");
  for (const { status } of await Promise.all(blocked)) expect(status).toBe(200);
});

test("requests beyond those that may wait are refused, and those of others are served", async ({ db }) => {
  await using http = await startServer(db, { poolSize: 2, waitingPerCaller: 3 });
  const job = await db.value<{ id: string }>("select jobforge_enqueue_job($1, 'a')", [T]);
  await using other = await db.connect();
  await other.query("begin");
  await other.query("select id from jobforge.queue where id = $1 for update", [job.id]);
  const token = await appToken(T);
  const change = { method: "PATCH", token, body: { priority: 1 } };
  const statuses: number[] = [];
  const sent = Array.from({ length: 10 }, async () => {
    const { status, headers } = await http.request(`/v1/jobs/${job.id}`, change);
    statuses.push(status);
    if (status === 429) expect(headers.get("retry-after")).toBe("1");
  });
  await expect.poll(() => statuses.length).toBe(6);
  expect((await http.request("/v1/jobs", { token: await appToken(U) })).status).toBe(200);
  await other.query("rollback");
  await Promise.all(sent);
  expect(statuses).toEqual([429, 429, 429, 429, 429, 429, 200, 200, 200, 200]);
});

test("keys that the server does not know share the connections of their address", async ({ db }) => {
  await using http = await startServer(db, { poolSize: 2 });
  const jwt = await appToken(T);
  expect((await http.request("/v1/jobs", { token: jwt })).status).toBe(200);
  await using other = await db.connect();
  await other.query("begin");
  await other.query("lock table jobforge.tokens in access exclusive mode");
  const guesses = Array.from({ length: 20 }, (_, index) =>
    http.request("/v1/jobs", { token: `jf_00000000_${String(index).padStart(64, "0")}` }),
  );
  await expect.poll(() => db.value(lockedSessions)).toBe(1);
  expect((await http.request("/v1/jobs", { token: jwt })).status).toBe(200);
  await other.query("rollback");
  expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([401]));
});
