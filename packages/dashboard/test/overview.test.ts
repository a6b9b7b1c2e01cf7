/** The overview, schedules and bulk changes in a real browser. */
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

  test("what needs attention is what the API lists, and leads to the right pages", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    const rows = await scene.db.query<{ message: string; target: string }>(
      "select message, target from jobforge_list_attention()",
    );
    await opened.visit("/");
    const panel = page.getByRole("region", { name: "Needs attention" });
    await expect.poll(() => panel.getByRole("listitem").count()).toBe(rows.length);
    const sentences = await panel.getByRole("listitem").getByRole("link").allTextContents();
    // The times in them are those of the reader's clock, which is not that of UTC.
    const withoutTimes = (text: string): string =>
      text.replaceAll(/(\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\dZ?/g, "TIME");
    expect(sentences.map(withoutTimes).sort()).toEqual(
      rows.map(({ message }) => withoutTimes(message)).sort(),
    );
    expect(sentences.join()).not.toMatch(/\dZ/);
    const follow = async (target: string, heading: string): Promise<void> => {
      const row = rows.find((each) => each.target === target);
      await panel.getByRole("link", { name: row?.message.split(/ until |: /)[0] ?? target }).click();
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
      await page.goBack();
      await panel.waitFor();
    };
    await follow("gate", "Limits and pauses");
    await follow("webhooks", "Webhooks");
    await panel.getByRole("button", { name: "Resume the type image.resize" }).click();
    await page.getByText("Resumed the type image.resize").waitFor();
    await expect.poll(() => panel.getByRole("link", { name: /image.resize is paused/ }).count()).toBe(0);
    expect(opened.complaints).toEqual([]);
  });

  test("what was changed is marked on the charts, and said below them", patience, async () => {
    await scene.db.query("select jobforge_set_gate('type', 'ledger.sync', true, 'The bank is closed')");
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/");
    const said = page.getByRole("region", { name: "What was changed meanwhile" });
    await said.getByText(/Paused ledger.sync by/).waitFor();
    await opened.visit("/types/ledger.sync");
    await said.getByText(/Paused ledger.sync by/).waitFor();
    // Changes of other types explain nothing here.
    await opened.visit("/types/mail.send");
    await said.getByText(/Set the limit of mail.send/).waitFor();
    expect(await said.getByText(/ledger.sync/).count()).toBe(0);
    expect(opened.complaints).toEqual([]);
  });

  test("a tenant's overview ends with what failed last", patience, async () => {
    await using opened = await scene.open({ as: { role: "jobforge_app", tenant_id: tenants.acme } });
    const { page } = opened;
    await opened.visit("/");
    const panel = page.getByRole("region", { name: "Failed last" });
    const rows = await scene.db.query<{ type: string }>(
      `select type from jobforge_jobs where tenant_id = $1 and status in ('failed', 'dead')
       order by finished_at desc limit 8`,
      [tenants.acme],
    );
    const jobs = panel.getByRole("table").getByRole("link");
    await expect.poll(() => jobs.count()).toBe(rows.length);
    expect(await jobs.allTextContents()).toEqual(rows.map(({ type }) => type));
    await jobs.first().click();
    await page.getByRole("heading", { name: "How it ended" }).waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test("a schedule shows its next runs in its own zone, and cron can be tried", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit(`/schedules/report.build/daily?of=${tenants.acme}`);
    const runs = page.getByRole("table", { name: "The next runs" }).getByRole("row");
    await expect.poll(() => runs.count()).toBe(11);
    expect(await runs.nth(1).textContent()).toMatch(/(Mon|Tue|Wed|Thu|Fri) 20\d\d-.* 09:00 GMT/);
    await opened.visit("/schedules");
    await page.getByRole("button", { name: "Preview a cron expression" }).click();
    await page.getByRole("textbox", { name: "Expression" }).fill("61 * * * *");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await page.getByRole("textbox", { name: "Expression" }).fill("30 2 * * *");
    await page.getByLabel("Time zone").fill("Europe/Berlin");
    await page.keyboard.press("Enter");
    await expect
      .poll(() =>
        page
          .getByRole("dialog")
          .getByText(/ 02:30 GMT/)
          .count(),
      )
      .toBe(10);
    expect(await violations(page)).toEqual([]);
    // The refused expression is the only thing that a browser may complain about.
    expect(opened.complaints.filter((each) => !each.includes("400"))).toEqual([]);
  });

  test(
    "a change of all that match is what was counted, of all tenants, with one audit entry",
    patience,
    async () => {
      const die = async (tenant: string): Promise<void> => {
        await scene.db.query("select jobforge_enqueue_job($1, 'bulk.job', p_max_attempts => 1)", [tenant]);
        await scene.db.query(
          `select jobforge_complete_job(id, 'w', 'failed', '{"message": "no"}')
           from jobforge_claim_jobs('w', 10, array['bulk.job'])`,
        );
      };
      for (const tenant of [tenants.acme, tenants.acme, tenants.globex]) await die(tenant);
      const entries = (): Promise<number> =>
        scene.db.value<number>(
          "select count(*)::int from jobforge_list_audit(null) where action ilike '%resched%'",
        );
      const before = await entries();
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      await opened.visit("/jobs?status=dead&type=bulk.job");
      await page.keyboard.press("j");
      await page.keyboard.press("x");
      await page.keyboard.press("a");
      await page.getByRole("toolbar").getByRole("button", { name: "Run now" }).click();
      const run = page.getByRole("dialog").getByRole("button", { name: "Run 3 jobs" });
      await run.waitFor();
      await die(tenants.initech);
      await run.click();
      await page.getByText("Queued 3 jobs").waitFor();
      const states = await scene.db.query(
        "select status, count(*)::int as jobs from jobforge_jobs where type = 'bulk.job' group by 1 order by 1",
      );
      expect(states).toEqual([
        { status: "dead", jobs: 1 },
        { status: "queued", jobs: 3 },
      ]);
      expect((await entries()) - before).toBe(1);
      expect(opened.complaints).toEqual([]);
    },
  );
});
