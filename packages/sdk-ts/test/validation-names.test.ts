/** Misspelled options are refused before any round trip, and the error names the option that was probably meant. */
import { describe, expect, test } from "vitest";
import { T } from "../../../sql/test/support/kernel.ts";
import { defineJob, defineSchedule, defineWorkflow, JobForge } from "../src/index.ts";
import { cleanUp } from "./support/jobs.ts";
import { recorder, refusal, wrong } from "./support/refusal.ts";

/** As many calls of plain JavaScript, with the field that the error names and a part of its hint. */
type Mistake = [field: string, hint: string, call: (forge: JobForge) => unknown];

async function expectRefusal([field, hint, call]: Mistake): Promise<void> {
  const { transport, calls } = recorder();
  const error = await refusal(() => call(new JobForge({ transport })));
  expect(error).toMatchObject({ name: "InvalidArgumentError", code: "JF002", field });
  expect(`${error.message} ${error.hint ?? ""}`).toContain(hint);
  expect(error.message).toContain(field);
  expect(calls).toEqual([]);
}

const stauts = { tenantId: T, stauts: "dead" };

describe("a misspelled filter", () => {
  test.for<Mistake>([
    ["stauts", "Did you mean status?", (forge) => forge.list(stauts)],
    ["stauts", "Did you mean status?", (forge) => forge.cancelMany({ ...stauts, type: "a" })],
    ["stauts", "Did you mean status?", (forge) => forge.rescheduleMany({ ...stauts, type: "a" })],
    ["stauts", "Did you mean status?", (forge) => forge.jobs.purge({ ...stauts, type: "a" })],
    ["stauts", "Did you mean status?", (forge) => forge.jobs.search(stauts)],
    ["stauts", "Did you mean status?", (forge) => forge.jobs.count(stauts)],
    ["stauts", "Did you mean status?", (forge) => forge.jobs.deadGroups(stauts)],
    ["state", "Did you mean status?", (forge) => forge.list(wrong({ tenantId: T, state: "dead" }))],
    ["created_before", "createdBefore?", (forge) => forge.jobs.search(wrong({ created_before: 1 }))],
    ["job", "job.type", (forge) => forge.cancelMany(wrong({ tenantId: T, job: cleanUp, status: "dead" }))],
    ["limit", "pageSize", (forge) => forge.list(wrong({ tenantId: T, limit: 5 }))],
    ["cursor", "page(cursor)", (forge) => forge.list(wrong({ tenantId: T, cursor: T }))],
    ["tenant", "tenantId", (forge) => forge.list(wrong({ tenant: T }))],
    ["enabld", "Did you mean enabled?", (forge) => forge.schedules.list(wrong({ enabld: false }))],
    ["stauts", "status", (forge) => forge.schedules.runs(cleanUp, "k", stauts)],
    ["tenant", "tenantId", (forge) => forge.schedules.count(wrong({ tenant: T }))],
    [
      "updatedbefor",
      "Did you mean updatedBefore?",
      (forge) =>
        forge.schedules.deleteMany(wrong({ tenantId: T, enabled: false, updatedbefor: new Date(0) })),
    ],
    ["acton", "Did you mean action?", (forge) => forge.audit.list(wrong({ acton: "a" }))],
    ["buckt", "Did you mean bucket?", (forge) => forge.usage.report(wrong({ buckt: "day" }))],
    ["caps", "Did you mean cap?", (forge) => forge.usage.live(wrong({ caps: 5 }))],
    ["span", "spanMs", (forge) => forge.types.list(wrong({ span: 5 }))],
    ["limit", "pageSize", (forge) => forge.policies.list(wrong({ limit: 5 }))],
    ["types", "Known options", (forge) => forge.runs.claim(wrong({ workerId: "w", types: ["a"] }))],
    ["runat", "runAt", (forge) => forge.reschedule(T, wrong({ tenantId: T, runat: new Date(0) }))],
    ["prioriy", "priority", (forge) => forge.update(T, wrong({ prioriy: 1 }), { tenantId: T })],
  ])("%s is refused with the hint %s: %o", expectRefusal);

  test("is accepted if it is undefined, and every known filter is", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    await forge.cancelMany(wrong({ tenantId: T, type: "a", stauts: undefined }));
    const time = new Date(0);
    const times = { createdAfter: time, createdBefore: time, finishedAfter: time, finishedBefore: time };
    const texts = { tags: ["t"], subject: "s", errorContains: "e", errorGroup: "g" };
    await forge.rescheduleMany({ tenantId: T, status: "dead", type: "a", ...texts, ...times, limit: 5 });
    expect(calls.map(({ args }) => args["p_filters"])).toEqual([
      { type: "a" },
      expect.objectContaining({ status: "dead", error_group: "g", finished_before: time }),
    ]);
  });
});

describe("a job and a workflow", () => {
  const flow = defineWorkflow({ name: "flow", steps: (w) => w.step("a", cleanUp, {}) });
  test.for<Mistake>([
    ["job", "forge.start()", (forge) => forge.enqueue(wrong(flow), wrong({}), { tenantId: T })],
    ["workflow", "forge.enqueue()", (forge) => forge.start(wrong(cleanUp), wrong({}), { tenantId: T })],
    ["workflow", "defineWorkflow()", (forge) => forge.start(wrong({}), wrong({}), { tenantId: T })],
    ["workflow", "not undefined", (forge) => forge.start(wrong(undefined), wrong({}), { tenantId: T })],
  ])("that are mistaken for each other: %s is refused with the hint %s", expectRefusal);
});

describe("an id", () => {
  test.for<Mistake>([
    ["id", "not undefined", (forge) => forge.get(wrong(undefined), { tenantId: T })],
    ["id", "what enqueue() returns", (forge) => forge.cancel("x", { tenantId: T })],
    ["id", "what start() returns", (forge) => forge.workflows.get("x", { tenantId: T })],
    ["id", "what create() returns", (forge) => forge.webhooks.get({ tenantId: T, id: "x" })],
    ["id", "the key of a schedule", (forge) => forge.schedules.get(cleanUp, { id: "x" }, { tenantId: T })],
    ["tenantId", "not a number", (forge) => forge.get(T, { tenantId: wrong(42) })],
  ])("that is wrong is refused as %s with the hint %s", expectRefusal);
});

describe("a definition", () => {
  const make = (options: unknown) => defineJob(wrong(options));
  test.for<Mistake>([
    ["options", 'defineJob({ type: "mail.send" })', () => make(undefined)],
    ["options", 'defineJob({ type: "a.b" })', () => make("a.b")],
    ["typ", "Did you mean type?", () => make({ typ: "x" })],
    ["type", "is required", () => make({})],
    ["type", "mail.send, EMAIL_SEND or app/tasks:send", () => make({ type: "Send Mail!" })],
    ["type", "must be a text, not a number", () => make({ type: 7 })],
    ["retries", "retry: { maxAttempts }", () => make({ type: "x", retries: 3 })],
    ["timeout", "timeoutMs", () => make({ type: "x", timeout: 5 })],
    ["handler", "handle(", () => make({ type: "x", handler: () => 1 })],
    ["keephistory", "Did you mean keepHistory?", () => make({ type: "x", keephistory: false })],
    ["zzz", "Known options: type,", () => make({ type: "x", zzz: 1 })],
    ["retry.maxAttemps", "Did you mean maxAttempts?", () => make({ type: "x", retry: { maxAttemps: 3 } })],
    ["retry.retries", "all executions", () => make({ type: "x", retry: { retries: 3 } })],
    ["retry", "{ maxAttempts: 3 }", () => make({ type: "x", retry: 3 })],
    ["retry", "must be a preset or an object, not null", () => make({ type: "x", retry: null })],
    [
      "retry",
      "one of standard, quick, gentle, patient, webhook, or numbers",
      () => make({ type: "x", retry: 3 }),
    ],
    ["timeoutMs", "Pass a number of milliseconds. 5 minutes are", () => make({ type: "x", timeoutMs: "5m" })],
    ["retry.maxAttempts", "not a text", () => make({ type: "x", retry: { maxAttempts: "3" } })],
    ["input", "z.object(", () => make({ type: "x", input: { to: "string" } })],
    ["keepHistory", "true or false", () => make({ type: "x", keepHistory: "no" })],
    ["dedupe", "must be a function, not a text", () => make({ type: "x", dedupe: "key" })],
    ["subject", "must be a function", () => make({ type: "x", subject: "s" })],
    ["run", "handle(async", () => cleanUp.handle(wrong(undefined))],
    ["run", "handleBatch(size", () => cleanUp.handleBatch(5, wrong(undefined))],
    ["maxAttemps", "Did you mean maxAttempts?", (forge) => forge.policies.set("a", wrong({ maxAttemps: 3 }))],
    ["changes", "maxAttempts", (forge) => forge.policies.set("a", wrong(undefined))],
  ])("with a wrong %s is refused with the hint %s: %o", expectRefusal);

  test("can be made from another definition", () => {
    const stricter = defineJob({ ...cleanUp, retry: { maxAttempts: 3 } });
    expect(stricter.handle(() => 1).definition).toMatchObject({
      type: "clean.up",
      retry: { maxAttempts: 3 },
    });
  });

  test("with a dedupe mode needs a key for each job, but not for the runs of a schedule", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({
      transport: {
        ...transport,
        call: async (...args) => {
          await transport.call(...args);
          return wrong([]);
        },
      },
    });
    const debounced = defineJob({ type: "x", dedupeMode: "debounce" });
    expect(await refusal(() => forge.enqueue(debounced, {}, { tenantId: T }))).toMatchObject({
      code: "JF002",
      field: "dedupeMode",
      hint: expect.stringContaining("dedupe(input)"),
    });
    expect(calls).toEqual([]);
    await forge.enqueue(debounced, {}, { tenantId: T, dedupeKey: "k" });
    await forge.sync([defineSchedule({ job: debounced, key: "k", every: "1h" })], { app: "a" });
    expect(calls).toMatchObject([
      { args: { p_dedupe_key: "k", p_dedupe_mode: "debounce" } },
      { args: { p_schedules: { text: expect.not.stringContaining("dedupe") } } },
    ]);
  });
});

describe("an option of a schedule", () => {
  const rhythm = { every: "5m" };
  const define = (options: object) => () => defineSchedule(wrong({ job: cleanUp, key: "k", ...options }));
  const ensure = (options: object) => (forge: JobForge) =>
    forge.schedules.ensure(cleanUp, "k", wrong({ tenantId: T, ...options }));
  const update = (changes: object) => (forge: JobForge) =>
    forge.schedules.update(cleanUp, "k", wrong(changes), { tenantId: T });

  test.for<Mistake>([
    ["interval", 'Did you mean every? It is a text such as "5m".', define({ interval: "5m" })],
    ["corn", "Did you mean cron?", define({ corn: "* * * * *" })],
    ["tz", "Did you mean timezone?", define({ cron: "* * * * *", tz: "UTC" })],
    ["name", "Did you mean key?", define({ ...rhythm, name: "n" })],
    ["nextRunAt", "schedules.update", define({ ...rhythm, nextRunAt: new Date(0) })],
    ["retries", "retryRuns: true", define({ ...rhythm, retries: 3 })],
    ["zzz", "Known options: job, key, tenantId, cron,", define({ ...rhythm, zzz: 1 })],
    ["options", "Pass an object with any of: job, key", () => defineSchedule(wrong("nightly"))],
    ["overlp", "Did you mean overlap?", ensure({ ...rhythm, overlp: "skip" })],
    ["nextRun", "Did you mean nextRunAt?", ensure({ ...rhythm, nextRun: new Date(0) })],
    ["evry", "Did you mean every?", update({ evry: "5m" })],
    ["firstRunAt", "Known options", update({ firstRunAt: new Date(0) })],
    ["changes", "Pass an object with any of: cron", update(wrong("5m"))],
  ])("%s is refused with the hint %s: %o", expectRefusal);

  test.for([
    [{}, "cron", "it has no rhythm", 'cron: "0 7 * * *", every: "5m", and dynamic: true'],
    [{ dynamic: false, cron: undefined, every: null }, "cron", "it has no rhythm", "Give one of the options"],
    [{ ...rhythm, cron: "@daily" }, "every", "cron and every exclude each other", "Give one of the options"],
    [{ ...rhythm, timezone: "UTC" }, "timezone", "of the kind every", "It belongs to cron."],
    [{ dynamic: true, jitter: "5s" }, "jitter", "of the kind dynamic", "It belongs to every."],
  ] as const)("%o is refused when it is defined", async ([options, field, message, hint]) => {
    const error = await refusal(() => Promise.resolve(define(options)()));
    expect(error).toMatchObject({ name: "InvalidScheduleError", code: "JF009", field });
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
  });

  test.for([5, 300_000, "5", " 90 ", "1.5"])("%o is refused as a time span", async (span) => {
    for (const [field, call] of [
      ["every", define({ every: span })],
      ["jitter", define({ every: "1h", jitter: span })],
      ["every", ensure({ every: span })],
      ["every", update({ every: span })],
    ] as const) {
      const { transport, calls } = recorder();
      const error = await refusal(() => call(new JobForge({ transport })));
      expect(error).toMatchObject({ name: "InvalidScheduleError", code: "JF009", field });
      expect(error.message).toContain("has no unit");
      expect(error.hint).toContain('"5m"');
      expect(calls).toEqual([]);
    }
  });
});

describe("a missing or wrong argument", () => {
  test.for<Mistake>([
    ["options", "Pass { tenantId }", (forge) => forge.get(T, wrong(T))],
    ["options", "runAt", (forge) => forge.reschedule(T, wrong(undefined))],
    ["changes", "payload", (forge) => forge.update(T, wrong(undefined), { tenantId: T })],
    ["filters", "tenantId", (forge) => forge.cancelMany(wrong(undefined))],
    ["filters", "tenantId", (forge) => forge.schedules.deleteMany(wrong(undefined))],
    ["options", "tenantId", (forge) => forge.list(wrong(undefined))],
    ["job", 'defineJob({ type: "x" })', (forge) => forge.list({ tenantId: T, job: wrong("x") })],
    ["timeout", "timeoutMs", (forge) => forge.result(T, wrong({ tenantId: T, timeout: 5 }))],
    ["timeout", "timeoutMs", (forge) => forge.within(wrong({ timeout: 5 }))],
    ["pool", "{ max: 20 }", () => new JobForge({ database: "postgres://h/d", pool: wrong(5) })],
    ["per", '"1 minute"', (forge) => forge.limits.set({ type: "x" }, wrong({ rate: 5, per: 60 }))],
    ["scope", "{ type }", (forge) => forge.limits.set(wrong("x"), { maxRunning: 1 })],
    ["scope", "{ type }", (forge) => forge.limits.get(wrong(undefined))],
    ["typ", "Did you mean type?", (forge) => forge.limits.remove(wrong({ typ: "x" }))],
    ["options", "maxRunning", (forge) => forge.limits.set({ type: "x" }, wrong(undefined))],
    [
      "maxRuning",
      "Did you mean maxRunning?",
      (forge) => forge.limits.set({ type: "x" }, wrong({ maxRuning: 1 })),
    ],
    ["typ", "Did you mean type?", (forge) => forge.gates.pause(wrong({ typ: "x" }))],
    ["scope", "{ tenantId }", (forge) => forge.gates.pause(wrong({ type: "x", tenantId: T }))],
    ["scope", "{ tenantId }", (forge) => forge.gates.resume(wrong({}))],
    ["reson", "Did you mean reason?", (forge) => forge.gates.pause("all", wrong({ reson: "x" }))],
    ["definitions", "[job]", (forge) => forge.sync(wrong(cleanUp))],
    ["definitions[0].job", "defineJob", (forge) => forge.sync(wrong(["x"]))],
    ["dryrun", "Did you mean dryRun?", (forge) => forge.sync([cleanUp], wrong({ dryrun: true }))],
    ["job", 'defineJob({ type: "x" })', (forge) => forge.schedules.get(wrong("x"), "k", { tenantId: T })],
    ["changes", "every", (forge) => forge.schedules.update(cleanUp, "k", wrong(undefined), { tenantId: T })],
    ["options", "cron", () => defineSchedule(wrong(undefined))],
    [
      "jobs[0].payload",
      "Did you mean input?",
      (forge) => forge.enqueueMany(wrong([{ job: cleanUp, payload: {} }]), { tenantId: T }),
    ],
  ])("%s is refused with the hint %s: %o", expectRefusal);

  test.for<(forge: JobForge) => unknown>([
    (forge) => forge.get(T, wrong(undefined)),
    (forge) => forge.cancel(T, wrong(undefined)),
    (forge) => forge.explain(T, wrong({})),
    (forge) => forge.result(T, wrong(undefined)),
    (forge) => forge.handle(T, wrong(undefined)),
    (forge) => forge.schedules.get(cleanUp, "k", wrong(undefined)),
    (forge) => forge.schedules.ensure(cleanUp, "k", wrong(undefined)),
    (forge) => forge.schedules.ensure(cleanUp, "k", wrong({ every: "1h" })),
  ])("of the tenant is refused: %o", async (call) => {
    const { transport, calls } = recorder();
    const error = await refusal(() => call(new JobForge({ transport })));
    expect(error).toMatchObject({ name: "TenantRequiredError", code: "JF001", field: "tenantId" });
    expect(calls).toEqual([]);
  });
});
