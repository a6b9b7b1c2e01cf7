/** Endpoints as tenants write them: what no worker would deliver to is refused, and keys change over time. */
import { describe, expect } from "vitest";
import table from "../../../conformance/egress.json" with { type: "json" };
import { test } from "../../../test/database.ts";
import { codeOf } from "../support/kernel.ts";
import { endpoint, endpointOf, other, T } from "./support/webhooks.ts";

interface KeyVersion {
  readonly version: number;
  readonly master_key: string;
  readonly until?: string;
}

const set = "select jobforge_set_webhook_endpoint($1, $2)";
const { denied, denied_prefixes } = table.headers;

describe("an endpoint is refused with", () => {
  test.for([
    ["url", {}],
    ["url", { url: "ftp://example.com/" }],
    ["url", { url: "https://user:password@example.com/" }],
    ["url", { url: "https://169.254.169.254/latest/" }],
    ["url", { url: "https://[::]:80 /" }],
    ["url", { url: `https://example.com/${"x".repeat(9000)}` }],
    ["events", { events: [] }],
    ["events", { events: [7] }],
    ["include", { include: ["error"] }],
    ["format", { format: "xml" }],
    ["signature", { signature: "none" }],
    ["signature", { signature: "ed25519", format: "legacy" }],
    ["headers", { headers: { "x-a": 7 } }],
    ["headers", { headers: { "x-a": "a\r\nb" } }],
    ["headers", { headers: { "x a": "b" } }],
    ["headers", { headers: { "x-a": { $secret: "lower" } } }],
    ["headers", { headers: ["x-a"] }],
    ["ordered", { ordered: "yes" }],
    ["retry_schedule", { retry_schedule: [] }],
    ["retry_schedule", { retry_schedule: [90_000] }],
    ["master_key", { master_key: "a key, not its name" }],
    ["keys", { keys: [] }],
  ] as const)("a wrong %s: %j", async ([field, more], { db }) => {
    const given = field === "url" ? more : { url: "https://example.com/", ...more };
    const error = await db.query(set, [T, given]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "JF002" });
    expect(JSON.parse(String((error as { detail: string }).detail))).toMatchObject({ field });
  });

  test("a header that the connectors refuse, in any case", async ({ db }) => {
    for (const name of [...denied, ...denied_prefixes.map((prefix) => `${prefix}x`)]) {
      const given = { url: "https://example.com/", headers: { [name.toUpperCase()]: "x" } };
      const error = await db.query(set, [T, given]).catch((thrown: unknown) => thrown);
      expect(error, name).toMatchObject({
        code: "JF002",
        message: expect.stringContaining(name.toUpperCase()),
      });
    }
    const headers = { Accept: "a/b", "X-Api-Key": { $secret: "KEY" }, x_team: "~", cookie: "a=b" };
    expect(await endpointOf(db, await endpoint(db, { headers }))).toMatchObject({ headers });
  });
});

test("a tenant has at most fifty endpoints, also if it creates them at the same time", async ({ db }) => {
  for (let n = 0; n < 49; n += 1) await endpoint(db);
  await using first = await db.connect();
  await using waiting = await db.connect();
  await first.query("begin");
  await first.query(set, [T, { url: "https://example.com/50" }]);
  const second = codeOf(waiting.query(set, [T, { url: "https://example.com/51" }]));
  await endpoint(db, {}, other);
  await first.query("commit");
  expect(await second).toBe("JF002");
  expect(
    await db.value("select count(*)::int from jobforge.webhook_endpoints where tenant_id = $1", [T]),
  ).toBe(50);
});

test("a rotated key signs until its time is over, and at most two older ones sign", async ({ db }) => {
  const id = await endpoint(db);
  const rotate = "select jobforge_rotate_webhook_endpoint($1, $2, $3)";
  const versions = async (): Promise<number[]> => {
    const { keys } = await endpointOf(db, id);
    return (keys as readonly KeyVersion[]).map(({ version }) => version);
  };
  await db.query(rotate, [T, id, "24 hours"]);
  expect(await versions()).toEqual([2, 1]);
  await db.travel("23 hours");
  await db.query(rotate, [T, id, "30 days"]);
  expect(await versions()).toEqual([3, 2, 1]);
  // A later rotation does not prolong an older key.
  await db.travel("25 hours");
  expect(await versions()).toEqual([3, 2]);
  for (let n = 0; n < 2; n += 1) await db.query(rotate, [T, id, "1 day"]);
  expect(await versions()).toEqual([5, 4, 3]);
  await db.query(rotate, [T, id, "0"]);
  expect(await versions()).toEqual([6]);
  for (const keep of ["-1 second", "31 days", null])
    expect(await codeOf(db.query(rotate, [T, id, keep])), String(keep)).toBe("JF002");
  expect(await codeOf(db.query(rotate, [other, id, "1 day"]))).toBe("JF016");
});
