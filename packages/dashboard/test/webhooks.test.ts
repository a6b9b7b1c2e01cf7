/** The pages of webhooks in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { type Opened, openScene, operator, type Scene, violations } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";
import { deliver } from "./support/webhooks.ts";

const patience = { timeout: 120_000 };
const acme = { role: "jobforge_app", tenant_id: tenants.acme, email: "grace@acme.example" };

describe.skipIf(!hasBrowser)("webhooks in a browser", () => {
  let scene: Scene;
  const path = (name: "working" | "failing" | "disabled"): string =>
    `/webhooks/${scene.seeded.webhooks[name]}?of=${tenants.acme}`;
  const endpointOf = (name: "working" | "failing" | "disabled"): Promise<Record<string, unknown>> =>
    scene.db.value("select jobforge_get_webhook_endpoint($1, $2)", [
      tenants.acme,
      scene.seeded.webhooks[name],
    ]);
  const click = async ({ page }: Opened, ...names: readonly string[]): Promise<void> => {
    for (const name of names) await page.getByRole("button", { name, exact: true }).last().click();
  };
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test.for(["light", "dark"] as const)("their pages pass axe in %s", patience, async (colorScheme) => {
    await using opened = await scene.open({ as: operator });
    await opened.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const found: string[] = [];
    for (const each of ["/webhooks", path("working"), path("failing"), path("disabled")]) {
      await opened.visit(each);
      found.push(...(await violations(opened.page)).map((violation) => `${each} ${violation}`));
    }
    for (const name of ["Deliver again", "Show the secret", "Rotate", "Delete the endpoint"]) {
      await opened.visit(path("working"));
      await click(opened, name);
      found.push(...(await violations(opened.page)).map((violation) => `${name} ${violation}`));
    }
    expect(found).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });

  test("the list says how each endpoint is doing, and keys lead to one", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/");
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
    const row = (url: string) => page.getByRole("row").filter({ hasText: url });
    await row("shop.acme").getByText("enabled").waitFor();
    await row("crm.acme").getByText("failing").waitFor();
    await row("old.acme").getByText("The shop has moved").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "https://crm.acme.example/events", level: 1 }).waitFor();
    await page.getByRole("navigation", { name: "States" }).getByRole("link", { name: "dead" }).waitFor();
    await page
      .getByText("The endpoint responded with status 503")
      .filter({ visible: true })
      .first()
      .waitFor();
    await page.getByRole("navigation", { name: "States" }).getByRole("link", { name: "succeeded" }).click();
    await page.getByText("No delivery has this status").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("webhooks");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test("a tenant adds an endpoint, tests it, sees its secret, rotates and deletes it", patience, async () => {
    await using opened = await scene.open({ as: acme });
    const { page } = opened;
    await opened.visit("/webhooks");
    await click(opened, "Add an endpoint");
    await page.getByLabel("URL").fill("ftp://nowhere.example");
    await click(opened, "Add the endpoint");
    await page.getByRole("status").getByText(/url/i).waitFor();
    await page.getByLabel("URL").fill("https://new.acme.example/hooks");
    await page.getByLabel("Events").fill("job.dead, invoice.*");
    await click(opened, "Add the endpoint");
    await page.getByRole("heading", { name: "https://new.acme.example/hooks", level: 1 }).waitFor();
    await page.getByText("There is no delivery yet").waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    await click(opened, "Send a test");
    await page.getByRole("link", { name: "webhook.test" }).waitFor();
    await deliver(scene.db);
    await opened.visit(`/webhooks/${id}`);
    await page.getByRole("row").filter({ hasText: "webhook.test" }).getByText("succeeded").waitFor();
    await click(opened, "Show the secret");
    const secret = page.getByRole("dialog").getByText(/^whsec_/);
    await secret.first().waitFor();
    const before = await secret.first().textContent();
    await click(opened, "Close");
    expect(await page.content()).not.toContain("whsec_");
    await click(opened, "Rotate", "Rotate the secret");
    await page.getByText("The endpoint has a new secret").waitFor();
    await click(opened, "Show the secret");
    await expect.poll(() => secret.count()).toBe(2);
    expect(await secret.last().textContent()).toBe(before);
    expect(await secret.first().textContent()).not.toBe(before);
    await click(opened, "Close");
    await page.getByRole("button", { name: "Delete the endpoint" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete the endpoint" }).click();
    await page.getByText("Deleted the endpoint").waitFor();
    await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
    const left = await scene.db.value<unknown[]>("select jobforge_list_webhook_endpoints($1)", [
      tenants.acme,
    ]);
    expect(left).toHaveLength(3);
    // The refused URL is the only thing that a browser may complain about.
    expect(opened.complaints.filter((each) => !each.includes("400"))).toEqual([]);
  });

  test("an endpoint is disabled with a reason, and enabled again", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit(path("working"));
    await click(opened, "Disable");
    await page.getByLabel("Reason").fill("moving to another host");
    await click(opened, "Disable the endpoint");
    await page.locator("main").getByText("moving to another host").waitFor();
    expect(await endpointOf("working")).toMatchObject({
      state: "disabled",
      reason: "moving to another host",
    });
    await page
      .getByRole("button", { name: "Send a test" })
      .and(page.locator("[aria-disabled=true]"))
      .waitFor();
    await click(opened, "Enable");
    await page.getByText("Enabled the endpoint").waitFor();
    expect(await endpointOf("working")).toMatchObject({ state: "enabled", reason: null });
    expect(opened.complaints).toEqual([]);
  });

  test("what failed is delivered again", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit(path("failing"));
    await click(opened, "Deliver again");
    await page.getByLabel("Type of event").fill("invoice.paid");
    await page.getByRole("dialog").getByRole("button", { name: "Deliver again" }).click();
    await page.getByText("Of 2 deliveries that match, 2 go out again").waitFor();
    const queued = await scene.db.query(
      `select from jobforge_list_webhook_deliveries($1, $2, '{"status": "queued"}')`,
      [tenants.acme, scene.seeded.webhooks.failing],
    );
    expect(queued).toHaveLength(2);
    expect(opened.complaints).toEqual([]);
  });

  test("another tenant and a reader see none of it", patience, async () => {
    await using other = await scene.open({ as: { role: "jobforge_app", tenant_id: tenants.globex } });
    await other.visit("/webhooks");
    await other.page.getByText("There is no endpoint").waitFor();
    await other.visit(path("working"));
    await other.page.locator("main [role=alert]").first().waitFor();
    expect(await other.page.content()).not.toContain("shop.acme.example");
    await using reader = await scene.open({ as: { role: "jobforge_reader" } });
    await reader.visit("/webhooks");
    await reader.page.getByText("Your key does not allow this page").waitFor();
  });
});
