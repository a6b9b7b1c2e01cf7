/** The names of types: what passes, what is refused, and that every call that takes a type has the same rule. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, expectError, type Sql, T, workerHeartbeat } from "../support/kernel.ts";
import { ensure } from "../support/schedules.ts";

const names = [
  "a",
  "mail",
  "EMAIL_SEND",
  "fetch_feed",
  "mail.send",
  "connector.http.request",
  "app/tasks:send",
  "shop.orders.tasks.send_invoice",
  "Billing::ChargeJob",
  "mail-send",
  "mail.send@2",
  "_private",
  "2fa.send",
  "x".repeat(200),
];

const notNames: Readonly<Record<string, string>> = {
  "a blank": "Send Mail",
  "an exclamation mark": "send!",
  "a blank at the end": "mail ",
  "a line break": "mail\nsend",
  "a line break at the end": "mail\n",
  "a tab": "mail\tsend",
  "a control character": "mail\u001b[2J",
  "a text that looks like an option": "--type",
  "a leading dot": ".hidden",
  "a comma, which separates types in a list": "mail,sms",
  "a star": "mail.*",
  "a percent sign": "mail%2Fsend",
  "a question mark": "mail?",
  "a hash": "mail#1",
  "a quote": "mail'",
  "a backslash": "App\\Mail",
  "a letter outside of ASCII": "überweisung",
  "a letter that looks like another": "m\u0430il",
  "a character that turns text around": "mail\u202e",
};

test.for(names)("%s is a type", async (type, { db }) => {
  await enqueue(db, { type });
  await ensure(db, { dynamic: true }, { type });
  await db.query("select jobforge_set_policy($1, '{}')", [type]);
  await db.query("select jobforge_set_gate('type', $1, true)", [type]);
  await db.query("select jobforge_set_gate('type', $1, false)", [type]);
  await db.query("select jobforge_set_limit('type', $1, 5)", [type]);
  expect(await claim(db, "w1", { types: [type] })).toHaveLength(2);
});

/** Every call that stores a type, and the field that its error names. */
const calls: Readonly<Record<string, readonly [(db: Sql, type: string) => Promise<unknown>, string]>> = {
  jobforge_enqueue_job: [(db, type) => enqueue(db, { type }), "type"],
  jobforge_enqueue_jobs: [
    (db, type) => db.query("select jobforge_enqueue_jobs($1, $2)", [T, JSON.stringify([{ type }])]),
    "jobs[0].type",
  ],
  jobforge_ensure_schedule: [(db, type) => ensure(db, { dynamic: true }, { type }), "type"],
  jobforge_set_policy: [(db, type) => db.query("select jobforge_set_policy($1, '{}')", [type]), "type"],
  jobforge_reset_policy: [(db, type) => db.query("select jobforge_reset_policy($1)", [type]), "type"],
  jobforge_set_gate: [(db, type) => db.query("select jobforge_set_gate('type', $1, true)", [type]), "key"],
  jobforge_set_limit: [(db, type) => db.query("select jobforge_set_limit('type', $1, 5)", [type]), "key"],
};

describe.for(Object.keys(calls))("%s", (name) => {
  test.for(Object.keys(notNames))("refuses %s, and says what a type is", async (problem, { db }) => {
    const [call, field] = calls[name] ?? [];
    const refusal = await expectError(
      call?.(db, notNames[problem] ?? "") ?? Promise.resolve(),
      "JF002",
      field,
    );
    expect(refusal.hint).toContain("mail.send");
  });
});

test("a worker that reports a text that is not a type heartbeats all the same", async ({ db }) => {
  await workerHeartbeat(db, "w1", { types: ["mail", "Send Mail!"], idle: true });
  expect(await db.query("select type from jobforge.idle_workers")).toEqual([{ type: "mail" }]);
});
