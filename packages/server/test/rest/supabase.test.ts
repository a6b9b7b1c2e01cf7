/** The unmodified Supabase client, with functions and views. */
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { describe, expect } from "vitest";
import { test as base, sign, T, U } from "../support/server.ts";

/** Node 20 has no WebSocket. The client requires one, although these tests never open it. */
class NoSocket {}

const connect = (url: string, token: string): SupabaseClient =>
  createClient(url, token, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: NoSocket as never },
  });

const test = base.extend<{ supabase: SupabaseClient; operator: SupabaseClient }>({
  supabase: async ({ http, db }, use) => {
    await db.query("select jobforge_enqueue_jobs($1, $2)", [T, JSON.stringify(jobs)]);
    await db.query("select jobforge_enqueue_job($1, 'secret.of.u')", [U]);
    await use(connect(http.url, await sign({ role: "authenticated", tenant_id: T })));
  },
  operator: async ({ http }, use) => use(connect(http.url, await sign({ role: "jobforge_operator" }))),
});

const jobs = [
  {
    type: "mail.send",
    priority: 1,
    subject: "order-1",
    tags: ["vip", "eu"],
    payload: { to: "ada@x.org", n: 1 },
  },
  {
    type: "mail.send",
    priority: 2,
    subject: "order-2",
    tags: ["eu"],
    payload: { to: 'a "quoted", (odd) one', n: 2 },
  },
  { type: "report.build", priority: 3, subject: null, payload: { parts: ["a", "b"] } },
];

describe("rpc", () => {
  test("calls a function", async ({ supabase }) => {
    const { data, error } = await supabase.rpc("jobforge_enqueue_job", {
      p_tenant_id: T,
      p_type: "a",
      p_priority: 5,
    });
    expect(error).toBeNull();
    expect(data).toMatchObject({ type: "a", priority: 5, outcome: "created" });
  });

  test("returns rows that can be filtered, ordered and limited", async ({ supabase }) => {
    const { data, error } = await supabase
      .rpc("jobforge_list_jobs", { p_tenant_id: T })
      .select("subject, priority")
      .gte("priority", 2)
      .order("priority", { ascending: false })
      .limit(1);
    expect(error).toBeNull();
    expect(data).toEqual([{ subject: null, priority: 3 }]);
    const got = await supabase.rpc("jobforge_list_jobs", { p_tenant_id: T }, { get: true }).eq("priority", 1);
    expect(got.data).toMatchObject([{ subject: "order-1" }]);
  });

  test("returns errors", async ({ supabase }) => {
    const { data, error, status } = await supabase.rpc("jobforge_enqueue_job", {
      p_tenant_id: U,
      p_type: "a",
    });
    expect([data, status]).toEqual([null, 403]);
    expect(error).toMatchObject({ code: "42501", message: "Permission denied for this tenant" });
    expect((await supabase.rpc("jobforge_nothing")).error).toMatchObject({ code: "PGRST202" });
  });
});

describe("a view", () => {
  test("shows rows of the caller's tenant only", async ({ supabase, operator }) => {
    const own = await supabase.from("jobforge_jobs").select();
    expect(own.data).toHaveLength(3);
    expect((await supabase.from("jobforge_jobs").select().eq("tenant_id", U)).data).toEqual([]);
    expect((await operator.from("jobforge_jobs").select()).data).toHaveLength(4);
  });

  test("returns the selected columns, also with aliases, parts of JSON and casts", async ({ supabase }) => {
    const { data, error } = await supabase
      .from("jobforge_jobs")
      .select("kind:type, payload->>to, first:payload->parts->0, priority::text")
      .order("priority");
    expect(error).toBeNull();
    expect(data).toEqual([
      { kind: "mail.send", to: "ada@x.org", first: null, priority: "1" },
      { kind: "mail.send", to: 'a "quoted", (odd) one', first: null, priority: "2" },
      { kind: "report.build", to: null, first: "a", priority: "3" },
    ]);
  });

  const found: readonly [string, number[], (query: Query) => Query][] = [
    ["eq", [1], (q) => q.eq("subject", "order-1")],
    ["neq", [2, 3], (q) => q.neq("priority", 1)],
    ["gt and lt", [2], (q) => q.gt("priority", 1).lt("priority", 3)],
    ["gte and lte", [1, 2], (q) => q.gte("priority", 1).lte("priority", 2)],
    ["in", [1, 2], (q) => q.in("subject", ["order-1", "order-2", "a,b", 'c"d'])],
    ["in, with values that need quotes", [2], (q) => q.in("payload->>to", ['a "quoted", (odd) one'])],
    ["in, with an empty list", [], (q) => q.in("subject", [])],
    ["is null", [3], (q) => q.is("subject", null)],
    ["not is null", [1, 2], (q) => q.not("subject", "is", null)],
    ["is, with a boolean", [1, 2, 3], (q) => q.is("cancel_requested", false)],
    ["like", [1, 2], (q) => q.like("subject", "order-%")],
    ["ilike", [3], (q) => q.ilike("type", "REPORT*")],
    ["contains, with an array", [1], (q) => q.contains("tags", ["vip", "eu"])],
    ["contains, with JSON", [2], (q) => q.contains("payload", { n: 2 })],
    ["contained by", [2, 3], (q) => q.containedBy("tags", ["eu"])],
    ["overlaps", [1, 2], (q) => q.overlaps("tags", ["eu", "us"])],
    ["or", [1, 3], (q) => q.or("priority.eq.1,and(type.eq.report.build,priority.gt.2)")],
    ["or with not and in", [1, 2], (q) => q.or("not.and(priority.gt.1,priority.lt.9),subject.in.(order-2)")],
    ["or, with quoted values", [1, 3], (q) => q.or('subject.eq."order-1",type.eq."report.build"')],
    [
      "or, with values that need quotes",
      [2, 3],
      (q) =>
        q.or('payload->>to.eq."a \\"quoted\\", (odd) one",and(type.not.eq."mail.send",type.like."report*")'),
    ],
    ["or, with in and quoted values", [1, 2], (q) => q.or('subject.in.("order-1","order-2")')],
    ["a part of JSON", [1], (q) => q.eq("payload->>to", "ada@x.org")],
    ["match", [1], (q) => q.match({ type: "mail.send", priority: 1 })],
  ];
  type Query = ReturnType<ReturnType<SupabaseClient["from"]>["select"]>;

  test.for(found)("is filtered by %s", async ([, expected, filter], { supabase }) => {
    const query = filter(supabase.from("jobforge_jobs").select("priority") as unknown as Query);
    const { data, error } = await query.order("priority");
    expect(error).toBeNull();
    expect((data as { priority: number }[]).map(({ priority }) => priority)).toEqual(expected);
  });

  test("returns its count, with and without rows", async ({ supabase }) => {
    const page = await supabase
      .from("jobforge_jobs")
      .select("priority", { count: "exact" })
      .order("priority")
      .range(1, 1);
    expect(page).toMatchObject({ data: [{ priority: 2 }], count: 3, status: 206 });
    const head = await supabase
      .from("jobforge_jobs")
      .select("*", { count: "exact", head: true })
      .eq("type", "mail.send");
    expect(head).toMatchObject({ data: null, count: 2, error: null });
    const beyond = await supabase.from("jobforge_jobs").select("*", { count: "exact" }).range(10, 20);
    expect(beyond.error).toMatchObject({ code: "PGRST103" });
  });

  test("returns a single row on request", async ({ supabase }) => {
    const jobs = () => supabase.from("jobforge_jobs").select("subject");
    expect((await jobs().eq("priority", 1).single()).data).toEqual({ subject: "order-1" });
    expect((await jobs().single()).error).toMatchObject({ code: "PGRST116" });
    expect((await jobs().eq("priority", 77).maybeSingle()).data).toBeNull();
    expect((await jobs().eq("priority", 2).maybeSingle()).data).toEqual({ subject: "order-2" });
  });

  test("must belong to JobForge: tables, other views and unknown columns are refused", async ({
    db,
    operator,
  }) => {
    await db.query(
      "create view public.jobforge_mine as select 1 as a; create table public.jobforge_table (a int)",
    );
    await db.query("grant select on public.jobforge_mine, public.jobforge_table to jobforge_operator");
    for (const name of [
      "jobs",
      "jobforge_mine",
      "jobforge_table",
      "pg_user",
      'jobforge_jobs"; --',
      "jobforge.queue",
    ])
      expect((await operator.from(name).select()).error).toMatchObject({ code: "PGRST205" });
    const from = (): ReturnType<SupabaseClient["from"]> => operator.from("jobforge_jobs");
    for (const refused of [
      from().select("no_such"),
      from().select("id, jobforge_job_attempts(*)"),
      from().select("id::regclass"),
      from().select("type->>a"),
      from().select().eq('id" or true --', "x"),
      from().select().order("no_such"),
      from().select().filter("id", "nonsense", "1"),
      from().select().eq("id", "no uuid"),
    ])
      expect([400]).toContain((await refused).status);
  });

  test("cannot be written to", async ({ supabase, http }) => {
    const token = await sign({ role: "jobforge_operator" });
    const jobs = supabase.from("jobforge_jobs");
    for (const refused of [
      jobs.insert({ type: "a" }),
      jobs.update({ type: "a" }).eq("priority", 1),
      jobs.delete().eq("priority", 1),
    ])
      expect((await refused).status).toBe(405);
    const response = await http.request("/rest/v1/jobforge_jobs", { method: "PUT", token });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await supabase.from("jobforge_none").insert({})).status).toBe(404);
    expect((await supabase.from("jobforge_jobs").select()).data).toHaveLength(3);
  });
});
