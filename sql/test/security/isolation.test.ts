/** A tenant can find out nothing about another tenant, and can change nothing of it. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { outcome } from "../support/failures.ts";
import { boundLogin, callsNaming, login, only, populate, seen, set, T, U } from "../support/tenants.ts";
import { tenantViews } from "../support/views.ts";

async function everything(db: TestDatabase): Promise<unknown> {
  return await db.value(
    "select jsonb_agg(j order by id) from (select * from jobforge_jobs where tenant_id = $1) j",
    [U],
  );
}

describe("a tenant that names another", () => {
  test("cannot list, cancel, reschedule or enqueue", async ({ db }) => {
    const { u } = await populate(db);
    const before = await everything(db);
    const app = await login(db, "jobforge_app");
    await set(app, "app.tenant_id", T);
    for (const tenant of [app, await boundLogin(db, T, "jobforge_tenant")]) {
      expect(await outcome(tenant.query("select jobforge_list_jobs($1)", [U]))).toBe("42501");
      expect(await outcome(tenant.query("select jobforge_cancel_job($1, $2)", [u.queued, U]))).toBe("42501");
      expect(await outcome(tenant.query("select jobforge_reschedule_job($1, $2)", [u.dead, U]))).toBe(
        "42501",
      );
      expect(await outcome(tenant.query("select jobforge_enqueue_job($1, 'mail')", [U]))).toBe("42501");
    }
    expect(await everything(db)).toEqual(before);
  });

  test("is refused by every function that takes a tenant, before the function checks other arguments", async ({
    db,
  }) => {
    const calls = await callsNaming(db, U, "jobforge_app");
    expect(calls.length).toBeGreaterThanOrEqual(4);
    const tenant = await boundLogin(db, T, "jobforge_app");
    const anonymous = await login(db, "jobforge_app");
    for (const call of calls) {
      expect(await outcome(tenant.query(call)), call).toBe("42501");
      expect(await outcome(anonymous.query(call)), call).toBe("42501");
    }
  });

  test("gets JF001 when it names no tenant", async ({ db }) => {
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    expect(await outcome(tenant.query("select jobforge_enqueue_job(null, 'mail')"))).toBe("JF001");
    expect(await outcome(tenant.query("select jobforge_list_jobs(null)"))).toBe("JF001");
  });
});

describe("a tenant that knows another's job id", () => {
  test("gets the same result as for a job that does not exist", async ({ db }) => {
    const { u } = await populate(db);
    const before = await everything(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    const calls = (await callsNaming(db, T, "jobforge_tenant")).filter((call) => call.includes("p_job_id"));
    expect(calls.length).toBeGreaterThanOrEqual(2);
    for (const call of calls) {
      const ask = (id: string): Promise<string> =>
        tenant.query(call.replace("p_job_id => NULL", `p_job_id => '${id}'`)).then(
          (rows) => JSON.stringify(rows),
          (error: unknown) => String(error),
        );
      const unknown = await ask("33333333-3333-7333-8333-333333333333");
      for (const id of [u.queued, u.running, u.dead]) expect(await ask(id), call).toBe(unknown);
    }
    expect(await tenant.query("select from jobforge_jobs where id = $1", [u.queued])).toEqual([]);
    expect(await everything(db)).toEqual(before);
  });

  test("changes only its own jobs in a bulk change", async ({ db }) => {
    const { t } = await populate(db);
    const before = await everything(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    await tenant.query(`select jobforge_cancel_jobs($1, '{"status": ["queued", "running"]}')`, [T]);
    await tenant.query(`select jobforge_reschedule_jobs($1, '{"status": ["failed", "dead"]}')`, [T]);
    expect(await tenant.value("select status from jobforge_jobs where id = $1", [t.queued])).toBe("canceled");
    expect(await tenant.value("select status from jobforge_jobs where id = $1", [t.dead])).toBe("queued");
    expect(await everything(db)).toEqual(before);
  });

  test("gives no job to another tenant in a bulk enqueue", async ({ db }) => {
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    const jobs = JSON.stringify([{ type: "mail" }, { type: "mail", tenant_id: U }]);
    await outcome(tenant.query("select jobforge_enqueue_jobs($1, $2)", [T, jobs]));
    expect(await db.query("select from jobforge_jobs where tenant_id <> $1", [T])).toEqual([]);
  });

  test("gets a job of its own for the same idempotency key and dedupe key", async ({ db }) => {
    const enqueue = "select jobforge_enqueue_job($1, 'mail', p_idempotency_key => 'k', p_dedupe_key => 'd')";
    const theirs = await db.value<{ id: string }>(enqueue, [U]);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    const own = await tenant.value<{ id: string; outcome: string; tenant_id: string }>(enqueue, [T]);
    expect(own).toMatchObject({ outcome: "created", tenant_id: T });
    expect(own.id).not.toBe(theirs.id);
  });
});

describe("a tenant that knows another's endpoint of webhooks", () => {
  test("gets the same result as for one that does not exist, and its deliveries stay as they are", async ({
    db,
  }) => {
    const hooks = JSON.stringify({ url: "https://example.com/theirs", events: ["*"] });
    const { id } = await db.value<{ id: string }>("select jobforge_set_webhook_endpoint($1, $2)", [U, hooks]);
    await db.query(`select jobforge_send_event($1, '{"type": "invoice.paid"}')`, [U]);
    await db.query(
      "select jobforge_complete_job(id, 'w', 'failed', p_retry => false) from jobforge_claim_jobs('w', 9)",
    );
    const theirs = async (): Promise<unknown> => [
      await everything(db),
      await db.query("select * from jobforge.webhook_endpoints"),
      await db.query("select * from jobforge.webhook_health"),
    ];
    const before = await theirs();
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    const named = (await callsNaming(db, T, "jobforge_tenant")).filter((call) =>
      call.includes("p_endpoint_id"),
    );
    expect(named.length).toBeGreaterThanOrEqual(8);
    const calls = [
      ...named,
      `select jobforge_set_webhook_endpoint('${T}', '{"url": "https://example.com/mine"}', p_endpoint_id => NULL)`,
      `select jobforge_enqueue_job('${T}', 'mail', p_notify_to => '{"endpoint_id": "p_endpoint_id => NULL"}')`,
    ];
    for (const call of calls) {
      const ask = async (endpoint: string): Promise<string> => {
        const quoted = call.includes("p_notify_to") ? endpoint : `p_endpoint_id => '${endpoint}'`;
        const text = await tenant.query(call.replace("p_endpoint_id => NULL", quoted)).then(
          (rows) => JSON.stringify(rows),
          (error: unknown) => String(error),
        );
        return text.replaceAll(endpoint, "ID");
      };
      expect(await ask(id), call).toBe(await ask("33333333-3333-7333-8333-333333333333"));
    }
    expect(await theirs()).toEqual(before);
  });
});

describe("row security", () => {
  test("hides other tenants from a function in WHERE, however cheap it claims to be", async ({ db }) => {
    await populate(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    const notices: string[] = [];
    tenant.client.on("notice", (notice) => notices.push(notice.message ?? ""));
    await tenant.query(
      `create function pg_temp.leak(p text) returns boolean language plpgsql cost 0.0000001
       as $$ begin raise notice '%', p; return true; end $$`,
    );
    for (const view of tenantViews) {
      notices.length = 0;
      const rows = await tenant.query(`select from ${view} v where pg_temp.leak(v::text)`);
      expect(rows.length, view).toBeGreaterThan(0);
      expect(notices.length, view).toBeGreaterThan(0);
      expect(
        notices.filter((line) => line.includes(U)),
        view,
      ).toEqual([]);
    }
  });

  test("hides other tenants from a function in a join, an ORDER BY and an aggregate", async ({ db }) => {
    await populate(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    const notices: string[] = [];
    tenant.client.on("notice", (notice) => notices.push(notice.message ?? ""));
    await tenant.query(
      `create function pg_temp.leak(p text) returns text language plpgsql cost 0.0000001
       as $$ begin raise notice '%', p; return p; end $$`,
    );
    await tenant.query(
      `select max(pg_temp.leak(j.tenant_id::text)) over (order by pg_temp.leak(a.tenant_id::text))
       from jobforge_jobs j
       join jobforge_job_attempts a on pg_temp.leak(a.job_id::text || a.tenant_id) = j.id::text || j.tenant_id
       order by pg_temp.leak(j.payload::text)`,
    );
    expect(notices.length).toBeGreaterThan(0);
    expect(notices.filter((line) => line.includes(U))).toEqual([]);
  });

  test("keeps the rows of other tenants from raising errors", async ({ db }) => {
    await populate(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    const probe =
      "select count(*)::int from jobforge_jobs where 1 / (case tenant_id when $1 then 0 else 1 end) = 1";
    expect(await tenant.value(probe, [U])).toBe(4);
    expect(await outcome(tenant.query(probe, [T]))).toBe("22012");
  });

  test("cannot be switched off by a client: the views then refuse to be read", async ({ db }) => {
    await populate(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    await set(tenant, "row_security", "off");
    for (const view of tenantViews) {
      expect(await outcome(tenant.query(`select from ${view}`)), view).toBe("42501");
    }
  });

  test("holds in every plan that settings can force", async ({ db }) => {
    await populate(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    for (const off of [
      "enable_seqscan",
      "enable_indexscan",
      "enable_bitmapscan",
      "enable_hashjoin",
      "enable_nestloop",
    ]) {
      await set(tenant, off, "off");
      expect(await seen(tenant), off).toEqual(only(T));
    }
  });
});
