/** A change of very many jobs: exactly those that were counted, with a stop, and one entry in the audit log. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { openScene, operator, type Scene } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 240_000 };
const many = 25_000;

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene({ isEmpty: true });
    for (const tenant of [tenants.acme, tenants.globex])
      await scene.db.query(
        `select count(*) from jobforge_enqueue_jobs($1, (
           select jsonb_agg(jsonb_build_object('type', 'flood.mail', 'payload', n)) from generate_series(1, $2::int) n))`,
        [tenant, many / 2],
      );
  }, 240_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  const statuses = (): Promise<Record<string, number>> =>
    scene.db.value(
      `select jsonb_object_agg(status, jobs) from (
         select status, count(*) as jobs from jobforge_jobs where type = 'flood.mail' group by status) s`,
    );
  const entries = (): Promise<number> =>
    scene.db.value("select count(*)::int from jobforge_list_audit(null) where action like '%CANCEL%'");

  async function askToCancel(page: Page, jobs: string): Promise<void> {
    await page.getByRole("link", { name: "flood.mail" }).first().waitFor();
    await page.keyboard.press("a");
    await page.getByRole("toolbar").getByRole("button", { name: "Cancel", exact: true }).click();
    const dialog = page.getByRole("dialog");
    const button = dialog.getByRole("button", { name: `Cancel ${jobs} jobs` });
    await button.waitFor();
    // A number this large is typed, so that no habit confirms it.
    expect(await button.getAttribute("aria-disabled")).toBe("true");
    await dialog.getByLabel(/Type .* to confirm/).fill(jobs);
    await button.click();
  }

  test("25,000 jobs are canceled, and neither more nor fewer, also after a stop", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/jobs?type=flood.mail&status=queued");
    let steps = 0;
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await page.route("**/v1/bulk/cancel*", async (route) => {
      steps += 1;
      if (steps === 4) await held;
      await route.continue();
    });
    await askToCancel(page, "25,000");
    await expect.poll(() => steps).toBe(4);
    await page.getByRole("dialog").getByText("3,000 of 25,000").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    goOn();
    await page.getByText("Canceled 4,000 jobs, then stopped").waitFor();
    expect(await statuses()).toEqual({ canceled: 4000, queued: many - 4000 });
    // Those that come while the rest is canceled are not what was agreed to.
    await page.unroute("**/v1/bulk/cancel*");
    let isLate = false;
    await page.route("**/v1/bulk/cancel*", async (route) => {
      if (!isLate) {
        isLate = true;
        await scene.db.query("select jobforge_enqueue_job($1, 'flood.mail')", [tenants.acme]);
      }
      await route.continue();
    });
    await opened.visit("/jobs?type=flood.mail&status=queued");
    await askToCancel(page, "21,000");
    await page.getByText("Canceled 21,000 jobs", { exact: true }).waitFor({ timeout: 120_000 });
    expect(await statuses()).toEqual({ canceled: many, queued: 1 });
    expect(await entries()).toBe(2);
    // Each says who has done it, and to what.
    const said = await scene.db.query<{ actor: string; meta: { filters: object } }>(
      "select actor, meta from jobforge_list_audit(null) where action like '%CANCEL%'",
    );
    for (const { actor, meta } of said) {
      expect(actor).toContain("ada@example.com");
      expect(JSON.stringify(meta)).toContain("flood.mail");
    }
    expect(opened.complaints).toEqual([]);
  });
});
