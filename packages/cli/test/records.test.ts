/** Tests of jobforge usage and jobforge audit. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { json, run, T, test, U } from "./support.ts";

interface Listed {
  readonly items: readonly Record<string, unknown>[];
  readonly cursor: string | null;
}

/** Three runs of two types and two tenants, one of which failed for good. */
async function populate(db: TestDatabase): Promise<void> {
  for (const [tenant, type] of [
    [T, "mail.send"],
    [U, "mail.send"],
    [T, "report.build"],
  ])
    await db.query("select jobforge_enqueue_job($1, $2)", [tenant, type]);
  await db.query(
    `select jobforge_complete_job(id, 'w', case type when 'report.build' then 'failed' else 'succeeded' end,
       '{"message": "boom"}', p_retry => false, p_cost_cents => 3)
     from jobforge_claim_jobs('w', 3)`,
  );
  await db.query("select jobforge_maintain()");
}

describe("jobforge usage", () => {
  test("sums runs by time, type and tenant", async ({ db }) => {
    await populate(db);
    expect(await json(["usage", "--per", "total"], db.url)).toMatchObject({
      items: [
        { type: "mail.send", tenantId: null, runs: 2, succeeded: 2, costCents: 6 },
        { type: "report.build", runs: 1, succeeded: 0, failed: 1, dead: 1 },
      ],
      cursor: null,
    });
    expect(await json(["usage", "--by", "tenant", "--type", "mail.send"], db.url)).toMatchObject({
      items: [
        { tenantId: T, type: null, runs: 1 },
        { tenantId: U, type: null, runs: 1 },
      ],
    });
    expect(await json(["usage", "--by", "none", "--tenant", T], db.url)).toMatchObject({
      items: [{ runs: 2 }],
    });
    const both = await json<Listed>(["usage", "--by", "tenant,type", "--per", "hour"], db.url);
    expect(both.items).toHaveLength(3);
    const { stdout } = await run(["usage", "--by", "type,tenant"], { DATABASE_URL: db.url });
    const [header, first] = stdout.split("\n");
    expect(header).toMatch(
      /^from +tenant +type +runs +succeeded +failed +dead +cents +run time +p95 wait +p95 run$/,
    );
    expect(first).toMatch(new RegExp(`^20\\S+Z +${T} +mail\\.send +1 +1 +0 +0 +3 `));
    expect((await run(["usage", "--by", "none"], { DATABASE_URL: db.url })).stdout).toMatch(/^from +runs /);
  });

  test("comes in pages, and says that there was nothing", async ({ db }) => {
    expect(await run(["usage"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 0,
      stdout: "No runs ended in this time.\n",
    });
    await populate(db);
    const page = await json<Listed>(["usage", "--limit", "1"], db.url);
    expect(page).toMatchObject({ items: [{ type: "mail.send" }], cursor: "1" });
    expect(await json(["usage", "--limit", "1", "--cursor", "1"], db.url)).toMatchObject({
      items: [{ type: "report.build" }],
      cursor: null,
    });
    const earlier = ["usage", "--from", "3d", "--to", "2d"];
    expect(await json(earlier, db.url)).toEqual({ items: [], cursor: null });
  });

  test.for([
    ["--by", "status"],
    ["--per", "minute"],
    ["--from", "1d", "--to", "2d"],
    ["--from", "yesterday"],
    ["--timezone", "Mars/Base"],
    ["--tenant", "11111111-1111-4111-8111"],
    ["--limit", "0"],
  ])("usage %j is refused", async (args, { db }) => {
    expect(await run(["usage", ...args], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 2,
      stdout: "",
    });
  });

  test("jobforge_reader may read it", async ({ db }) => {
    const { url } = await db.createLogin("jobforge_reader");
    expect(await json(["usage"], url)).toEqual({ items: [], cursor: null });
  });
});

describe("jobforge audit", () => {
  test("lists entries by filters, the newest first, page by page", async ({ db }) => {
    await populate(db);
    await db.query("select jobforge_set_gate('type', 'mail.send', true, 'The provider is down')");
    await db.query(`select jobforge_set_policy('mail.send', '{"max_attempts": 3}')`);
    const actions = async (...filters: string[]): Promise<unknown[]> => {
      const { items } = await json<Listed>(["audit", ...filters], db.url);
      return items.map(({ action }) => action);
    };
    expect(await actions()).toEqual(["POLICY_SET", "GATE_PAUSED", "JOB_FAILED"]);
    expect(await actions("--action", "POLICY_SET")).toEqual(["POLICY_SET"]);
    expect(await actions("--entity-type", "gate")).toEqual(["GATE_PAUSED"]);
    expect(await actions("--entity-id", "mail.send")).toEqual(["POLICY_SET"]);
    expect(await actions("--actor", "w")).toEqual(["JOB_FAILED"]);
    expect(await actions("--tenant", T)).toEqual(["JOB_FAILED"]);
    expect(await actions("--before", "1h")).toEqual([]);
    expect(await actions("--after", "1h")).toHaveLength(3);
    const { cursor } = await json<Listed>(["audit", "--limit", "1"], db.url);
    expect(await actions("--limit", "1", "--cursor", cursor ?? "")).toEqual(["GATE_PAUSED"]);
    const { stdout } = await run(["audit"], { DATABASE_URL: db.url });
    expect(stdout).toMatch(/^20\S+Z +\S+ +POLICY_SET +type +mail\.send +\{"max_attempts":3\}$/m);
    expect(stdout).toMatch(/GATE_PAUSED +gate +type:mail\.send +The provider is down$/m);
    expect(await run(["audit", "--action", "NOTHING"], { DATABASE_URL: db.url })).toMatchObject({
      stdout: "No entries.\n",
    });
  });

  test.for([
    ["--entity-type", "cat"],
    ["--after", "soon"],
    ["--tenant", "11111111-1111-4111-8111"],
    ["--action", ""],
    ["--cursor", "x"],
  ])("audit %j is refused", async (args, { db }) => {
    expect(await run(["audit", ...args], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 2,
      stdout: "",
    });
  });
});
