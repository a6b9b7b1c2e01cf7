/** What was done by mistake is taken back where the kernel can, asked about before where it cannot, and on record. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { type Opened, openScene, operator, type Scene, violations } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 120_000 };

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  /** Jobs of a type that failed for good. */
  async function die(type: string, count: number): Promise<string[]> {
    await scene.db.query(
      "select jobforge_enqueue_job($1, $2, p_max_attempts => 1) from generate_series(1, $3::int)",
      [tenants.acme, type, count],
    );
    const rows = await scene.db.query<{ id: string }>(
      `select id, jobforge_complete_job(id, 'w', 'failed', '{"message": "no paper"}')
       from jobforge_claim_jobs('w', 100, array[$1])`,
      [type],
    );
    return rows.map(({ id }) => id);
  }
  const statuses = (type: string): Promise<Record<string, number>> =>
    scene.db.value(
      `select jsonb_object_agg(status, jobs) from (
         select status, count(*) as jobs from jobforge_jobs where type = $1 group by status) s`,
      [type],
    );
  async function runAll({ page, visit }: Opened, type: string, count: number): Promise<void> {
    await visit(`/jobs?status=dead&type=${type}`);
    await page.keyboard.press("a");
    await page.getByRole("toolbar").getByRole("button", { name: "Run now" }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: `Run ${count} jobs` })
      .click();
    await page.getByText(`Queued ${count} jobs`).waitFor();
  }

  test("a group that runs again is canceled by Undo, except for what has started", patience, async () => {
    await die("undo.group", 3);
    await using opened = await scene.open({ as: operator });
    await runAll(opened, "undo.group", 3);
    await scene.db.query("select id from jobforge_claim_jobs('w', 1, array['undo.group'])");
    await opened.page.getByRole("button", { name: "Undo", exact: true }).click();
    await opened.page.getByText("Canceled 2 jobs; 1 other had started").waitFor();
    expect(await statuses("undo.group")).toEqual({ canceled: 2, running: 1 });
    expect(opened.complaints).toEqual([]);
  });

  test("what was queued before is never canceled by Undo", patience, async () => {
    await die("undo.mixed", 2);
    await scene.db.query(
      "select jobforge_enqueue_job($1, 'undo.mixed', p_run_at => jobforge.now() + interval '1 hour')",
      [tenants.acme],
    );
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/jobs?type=undo.mixed");
    await page.keyboard.press("a");
    await page.getByRole("toolbar").getByRole("button", { name: "Run now" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run 3 jobs" }).click();
    await page.getByText("Queued 3 jobs").waitFor();
    expect(await page.getByRole("button", { name: "Undo", exact: true }).count()).toBe(0);
  });

  test("a change of many jobs leads to its one entry in the audit log", patience, async () => {
    await die("undo.audit", 2);
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await runAll(opened, "undo.audit", 2);
    await page.getByRole("link", { name: "Audit entry" }).click();
    await page.getByRole("heading", { name: "Audit", level: 1 }).waitFor();
    const rows = page.getByRole("table", { name: "Entries of the audit log" }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.first().textContent()).toMatch(/JOBS_RESCHEDULED.*ada@example.com/);
    // The filters are the address, and what is typed narrows further.
    await page.getByLabel("Action").fill("jobs_canceled");
    await page.keyboard.press("Enter");
    await page.getByText("There is no entry").waitFor();
    expect(new URL(page.url()).searchParams.get("action")).toBe("JOBS_CANCELED");
    await page.goBack();
    await expect.poll(() => rows.count()).toBe(1);
    expect(opened.complaints).toEqual([]);
  });

  test("one letter does not cancel a job: the page asks first", patience, async () => {
    const { id } = await scene.db.value<{ id: string }>("select jobforge_enqueue_job($1, 'undo.cancel')", [
      tenants.acme,
    ]);
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit(`/jobs/${id}?of=${tenants.acme}`);
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog", { name: "Cancel this job of undo.cancel?" });
    await dialog.waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await statuses("undo.cancel")).toEqual({ queued: 1 });
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await dialog.getByRole("button", { name: "Cancel the job" }).click();
    await page.getByText("The job is canceled").waitFor();
    expect(await statuses("undo.cancel")).toEqual({ canceled: 1 });
    expect(opened.complaints).toEqual([]);
  });

  test("a job that was run by hand gets its time back, or is canceled if it was dead", patience, async () => {
    const { id, run_at } = await scene.db.value<{ id: string; run_at: string }>(
      "select jobforge_enqueue_job($1, 'undo.later', p_run_at => jobforge.now() + interval '3 hours')",
      [tenants.acme],
    );
    const [dead = ""] = await die("undo.dead", 1);
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    const runAtOf = (): Promise<Date> =>
      scene.db.value("select run_at from jobforge_jobs where id = $1", [id]);
    await opened.visit(`/jobs/${id}?of=${tenants.acme}`);
    await page.keyboard.press("r");
    await page.getByText("The job is due now").waitFor();
    expect(Number(await runAtOf())).toBeLessThan(Date.parse(run_at));
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("The job waits for its time again").waitFor();
    expect(Number(await runAtOf())).toBe(Date.parse(run_at));
    await opened.visit(`/jobs/${dead}?of=${tenants.acme}`);
    await page.keyboard.press("r");
    await page.getByText("The job is due now").waitFor();
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await expect.poll(() => statuses("undo.dead")).toEqual({ canceled: 1 });
    expect(opened.complaints).toEqual([]);
  });
});
