/** Pauses and limits are set where they are thought of, by names that exist. */
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

  test("a tenant is paused by its label, and undone", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/controls");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("What").selectOption("tenant");
    await dialog.getByLabel("Tenant").selectOption("Umbrella");
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Pause the tenant Umbrella" }).click();
    await page.getByText("Paused the tenant Umbrella").waitFor();
    await opened.visit("/");
    await page.getByRole("button", { name: "Resume the tenant Umbrella" }).click();
    await page.getByText("Resumed the tenant Umbrella").waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test("a type that does not exist is noticed before it is paused", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/controls");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    const field = page.getByRole("dialog").getByLabel("Type", { exact: true });
    await field.fill("mail.sned");
    await page.getByText("No job, worker or policy has this type now").waitFor();
    await field.fill("mail.send");
    await expect.poll(() => page.getByText("No job, worker or policy has this type now").count()).toBe(0);
    expect(await page.locator("datalist option[value='mail.send']").count()).toBe(1);
  });

  test("a limit is set on the page of a type and of a tenant, and removed", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const limits = page.getByRole("region", { name: "Its limits" });
    await opened.visit("/types/invoice.render");
    await limits.getByRole("button", { name: "Set a limit" }).click();
    await dialog.getByLabel("At once").fill("3");
    await dialog.getByRole("button", { name: "Set the limit" }).click();
    await page.getByText("Set the limit of invoice.render").waitFor();
    await limits.getByText("3 at once").waitFor();
    await opened.visit(`/tenants/${tenants.initech}`);
    await limits.getByRole("button", { name: "Set a limit" }).click();
    await dialog.getByLabel("Starts per minute").fill("90");
    await dialog.getByRole("button", { name: "Set the limit" }).click();
    await page.getByText("Set the limit of Initech").waitFor();
    await limits.getByText("90 per 1m").waitFor();
    await limits.getByRole("button", { name: "Remove" }).click();
    await limits.getByText("There is no limit.").waitFor();
    expect(
      await scene.db.query("select scope, key, max_running from jobforge_list_limits() where key = $1", [
        "invoice.render",
      ]),
    ).toEqual([{ scope: "type", key: "invoice.render", max_running: 3 }]);
    expect(opened.complaints).toEqual([]);
  });

  test("all schedules that are shown are disabled together, with a stop and an undo", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    const enabled = (): Promise<number> =>
      scene.db.value("select count(*)::int from jobforge_schedules where enabled");
    await opened.visit("/schedules");
    await page.getByRole("button", { name: "Disable all shown" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("4 schedules of 3 tenants").waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Disable 4 schedules" }).click();
    await page.getByText("Disabled 4 schedules").waitFor();
    expect(await enabled()).toBe(0);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("They are as they were before").waitFor();
    expect(await enabled()).toBe(4);
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let asked = 0;
    await page.route("**/v1/schedules/*/*/disable*", async (route) => {
      asked += 1;
      if (asked === 2) await held;
      await route.continue();
    });
    await page.getByRole("button", { name: "Disable all shown" }).click();
    await dialog.getByRole("button", { name: "Disable 4 schedules" }).click();
    await dialog.getByText("1 of 4").waitFor();
    await dialog.getByRole("button", { name: "Stop" }).click();
    goOn();
    await page.getByText("Disabled 2 schedules").waitFor();
    expect(await enabled()).toBe(2);
    await opened.visit("/schedules?show=disabled");
    await page.getByRole("button", { name: "Enable all shown" }).click();
    await dialog.getByRole("button", { name: "Enable 2 schedules" }).click();
    await page.getByText("Enabled 2 schedules").waitFor();
    expect(await enabled()).toBe(4);
    expect(opened.complaints).toEqual([]);
  });
});
