/** The built dashboard in a real browser: what people see, and what they do. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { sign } from "../../server/test/support/server.ts";
import { openScene, operator, type Scene, violations } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 120_000 };
const evil = `<img src="x" onerror="alert(1)">`;
const shown = ["/", "/jobs", "/dead"];
const paths = [
  ...shown,
  "/types",
  "/types/mail.send",
  "/schedules",
  `/schedules/report.build/daily?of=${tenants.acme}`,
  "/tenants",
  "/controls",
  "/workers",
  "/usage",
  "/audit",
  "/keys",
  "/settings",
];

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test("a visitor signs in with a token, and sees the page that was asked for", patience, async () => {
    await using opened = await scene.open();
    const { page } = opened;
    await page.goto(`${scene.http.url}/jobs`);
    await page.getByLabel("Key or token").fill("nonsense");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Key or token").fill(await sign(operator));
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "mail.send" }).first().waitFor();
    expect(await page.evaluate("document.cookie + JSON.stringify(localStorage)")).not.toContain("eyJ");
    await page.getByRole("button", { name: /^Sign out/ }).click();
    await page.getByLabel("Key or token").waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test.for(["light", "dark"] as const)("every page passes axe in %s", patience, async (colorScheme) => {
    await using opened = await scene.open({ as: operator });
    await opened.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const found: string[] = [];
    for (const path of paths) {
      await opened.visit(path);
      found.push(...(await violations(opened.page)).map((each) => `${path} ${each}`));
    }
    expect(found).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });

  test("texts of jobs stay texts", patience, async () => {
    await scene.db.query("select jobforge_set_tenant($1, $2)", [tenants.umbrella, { label: evil }]);
    const { id } = await scene.db.value<{ id: string }>(
      "select jobforge_enqueue_job($1, 'evil', $2, p_subject => $3, p_tags => array[$3], p_max_attempts => 1)",
      [tenants.umbrella, { [evil]: evil }, evil],
    );
    await scene.db.query(
      "select jobforge_complete_job(id, 'w', 'failed', $1) from jobforge_claim_jobs('w', 1, array['evil'])",
      [{ message: evil, stack: `Error: ${evil}\n at ${evil}` }],
    );
    await using opened = await scene.open({ as: operator });
    for (const path of [...shown, `/jobs/${id}?of=${tenants.umbrella}`]) {
      await opened.visit(path);
      if (path !== "/")
        await opened.page.locator("main").getByText(evil).filter({ visible: true }).first().waitFor();
      expect(await opened.page.locator("img").count(), path).toBe(0);
    }
    expect(opened.complaints).toEqual([]);
  });

  test("a dead job is found and run again with the keyboard alone", patience, async () => {
    const { id } = await scene.db.value<{ id: string }>(
      "select jobforge_enqueue_job($1, 'keyboard.job', p_max_attempts => 1)",
      [tenants.acme],
    );
    await scene.db.query(
      `select jobforge_complete_job(id, 'w', 'failed', '{"message": "out of paper"}')
       from jobforge_claim_jobs('w', 1, array['keyboard.job'])`,
    );
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/");
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("link", { name: "out of paper" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
    await page.getByRole("link", { name: "keyboard.job" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "How it ended" }).waitFor();
    await page.keyboard.press("r");
    await page.getByRole("heading", { name: "Why it is not running" }).waitFor();
    const [row] = await scene.db.query("select status from jobforge_get_job($1, $2)", [id, tenants.acme]);
    expect(row).toEqual({ status: "queued" });
    expect(opened.complaints).toEqual([]);
  });
});
