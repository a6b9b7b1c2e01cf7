/** How lists are read: their columns, and their numbers by day. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { openScene, operator, type Scene, violations } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 120_000 };

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test(
    "the reader chooses the columns of the list of jobs, and the browser keeps them",
    patience,
    async () => {
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      await opened.visit("/jobs");
      const heads = (): Promise<string[]> => page.locator("main thead th").allTextContents();
      expect(await heads()).toEqual([
        "",
        "Status",
        "Type",
        "Subject",
        "Tenant",
        "Attempts",
        "When",
        "Took",
        "Error",
      ]);
      await page.getByRole("button", { name: "Columns" }).click();
      expect(await violations(page)).toEqual([]);
      await page.getByLabel("Subject").uncheck();
      await page.getByLabel("Worker").check();
      await page.keyboard.press("Escape");
      const chosen = ["", "Status", "Type", "Tenant", "Attempts", "When", "Took", "Worker", "Error"];
      await expect.poll(heads).toEqual(chosen);
      await page.reload();
      await expect.poll(heads).toEqual(chosen);
      await page.locator("main tbody td", { hasText: "mailer-" }).first().waitFor();
      await page.getByRole("button", { name: "Columns" }).click();
      await page.getByRole("button", { name: "The usual ones" }).click();
      await expect.poll(heads).toContain("Subject");
      expect(opened.complaints).toEqual([]);
    },
  );

  test("usage by day has one row for each day, in the address and as a file", patience, async () => {
    await using opened = await scene.open({ as: operator, timezoneId: "Europe/Berlin" });
    const { page } = opened;
    await opened.visit("/usage");
    await page.getByLabel("Split by").selectOption("Day");
    const rows = page.getByRole("table", { name: "Usage by time" }).locator("tbody tr");
    await rows.first().waitFor();
    const days = await scene.db.query<{ runs: number }>(
      `select runs from jobforge_report_usage(p_from => now() - interval '1 day', p_bucket => 'day', p_by => '{}',
         p_timezone => 'Europe/Berlin')`,
    );
    await expect.poll(() => rows.count()).toBe(days.length);
    const first = await rows.locator("td").first().textContent();
    expect(first).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(new URL(page.url()).searchParams.get("by")).toBe("time");
    await page.reload();
    await expect.poll(() => rows.count()).toBe(days.length);
    expect(opened.complaints).toEqual([]);
  });

  test(
    "masked values are shown to an operator who asks, on the record, and are never stored",
    patience,
    async () => {
      const { db } = scene;
      await db.query("select jobforge_set_policy('pay.out', $1)", [{ redact: ["iban"] }]);
      const { id } = await db.value<{ id: string }>(
        `select jobforge_enqueue_job($1, 'pay.out', '{"iban": "DE02-secret", "cents": 9007199254740993}')`,
        [tenants.acme],
      );
      const path = `/jobs/${id}?of=${tenants.acme}`;
      await using tenant = await scene.open({ as: { role: "jobforge_app", tenant_id: tenants.acme } });
      await tenant.visit(path);
      await tenant.page.getByText("An operator can see them.").waitFor();
      // A copy of what is masked has the values themselves.
      await tenant.page.getByRole("button", { name: "Edit a copy" }).click();
      const field = tenant.page.getByRole("textbox", { name: "Payload" });
      await field.fill('{"iban": "[redacted]", "cents": 2}');
      await tenant.page
        .getByRole("dialog")
        .getByText(/It has masked values/)
        .waitFor();
      await tenant.page.keyboard.press("Escape");
      await tenant.page.getByRole("button", { name: "Edit a copy" }).click();
      await tenant.page.getByRole("button", { name: "Enqueue the copy" }).click();
      await tenant.page.getByText("The copy is queued").waitFor();
      expect(
        await db.query("select distinct payload::text from jobforge_jobs where type = 'pay.out'"),
      ).toEqual([{ payload: '{"iban": "DE02-secret", "cents": 9007199254740993}' }]);
      await using opened = await scene.open({ as: operator });
      await opened.visit(path);
      expect(await opened.page.content()).not.toContain("DE02-secret");
      await opened.page.getByRole("button", { name: "Show them, on the record" }).click();
      await opened.page.getByText('"DE02-secret"').waitFor();
      await opened.page.getByText("9007199254740993").waitFor();
      const entries = await db.query(
        "select actor from jobforge_list_audit(null) where action = 'JOB_REVEALED'",
      );
      expect(entries).toEqual([{ actor: "ada@example.com (jobforge_operator)" }]);
      await opened.visit(path);
      expect(await opened.page.content()).not.toContain("DE02-secret");
      expect([...tenant.complaints, ...opened.complaints]).toEqual([]);
    },
  );

  test("a group of jobs that has begun to fail is run again from the overview", patience, async () => {
    await scene.db.query(
      `select jobforge_enqueue_job($1, 'spike.job', p_max_attempts => 1) from generate_series(1, 12)`,
      [tenants.globex],
    );
    await scene.db.query(
      `select jobforge_complete_job(id, 'w', 'failed', '{"message": "the disk is full"}')
       from jobforge_claim_jobs('w', 20, array['spike.job'])`,
    );
    // What ended is added to the samples by maintenance.
    await scene.db.query("select jobforge_maintain()");
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/");
    await page.getByRole("button", { name: "Run the failed jobs of spike.job again" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("of 1 tenant and 1 type").waitFor();
    await dialog.getByRole("button", { name: "Run 12 jobs" }).click();
    await page.getByText("Queued 12 jobs").waitFor();
    expect(opened.complaints).toEqual([]);
  });
});
