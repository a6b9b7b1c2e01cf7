/** The pages of workflows in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { openScene, operator, type Scene, violations } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";
import { drain } from "./support/workflows.ts";

const patience = { timeout: 120_000 };

describe.skipIf(!hasBrowser)("workflows in a browser", () => {
  let scene: Scene;
  const path = (name: "succeeded" | "failed" | "waiting"): string =>
    `/workflows/${scene.seeded.workflows[name]}?of=${tenants.acme}`;
  const statusOf = (name: "failed" | "waiting"): Promise<string> =>
    scene.db.value<string>("select status from jobforge_workflows where id = $1", [
      scene.seeded.workflows[name],
    ]);
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test.for(["light", "dark"] as const)("their pages pass axe in %s", patience, async (colorScheme) => {
    await using opened = await scene.open({ as: operator });
    await opened.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const found: string[] = [];
    for (const each of ["/workflows", path("succeeded"), path("failed"), path("waiting")]) {
      await opened.visit(each);
      found.push(...(await violations(opened.page)).map((violation) => `${each} ${violation}`));
    }
    expect(found).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });

  test("a list is narrowed by status, and leads to a graph whose steps are links", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/workflows");
    await page.getByRole("navigation", { name: "States" }).getByRole("link", { name: "failed" }).click();
    await page.getByText("1 in all").waitFor();
    await page.getByRole("link", { name: "order.place" }).click();
    await page.getByRole("heading", { name: "Step charge" }).waitFor();
    const graph = page.getByRole("region", { name: "Graph of the steps" });
    expect(await graph.getByRole("link").allTextContents()).toHaveLength(5);
    await graph.getByRole("link", { name: /^pack/ }).click();
    await page.getByRole("heading", { name: "Step pack" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Step charge" }).waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test("an approval is sent, and the workflow goes on", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit(path("waiting"));
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send approve" }).click();
    await page.getByText("Sent approve").waitFor();
    await drain(scene.db, "doc.", () => undefined);
    await expect.poll(() => statusOf("waiting")).toBe("succeeded");
    await opened.visit(path("waiting"));
    await page.getByRole("heading", { name: "Output" }).waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    const frame = page.getByRole("region", { name: "Graph of the steps" }).getByText("release");
    await frame.waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test("a failed step is resolved by hand, retried, and the workflow canceled", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit(path("failed"));
    await page.getByText("The card was declined").filter({ visible: true }).first().waitFor();
    await page.getByRole("button", { name: "Retry what failed" }).click();
    await page.getByText("What ended badly runs again").waitFor();
    await expect.poll(() => statusOf("failed")).toBe("running");
    await drain(scene.db, "order.", (type) => (type === "order.charge" ? "Declined again" : undefined));
    await opened.visit(`${path("failed")}&step=charge`);
    await page.getByRole("button", { name: "Resolve by hand" }).click();
    await page.getByRole("button", { name: "End it as succeeded" }).click();
    await page.getByText("The step charge is succeeded").waitFor();
    await expect.poll(() => statusOf("failed")).toBe("running");
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByLabel("Reason").fill("the customer left");
    await page.getByRole("button", { name: "Cancel the workflow" }).click();
    await page.getByText("The workflow ends when its last job has ended").waitFor();
    const row = await scene.db.value<string>("select cancel_reason from jobforge_workflows where id = $1", [
      scene.seeded.workflows.failed,
    ]);
    expect(row).toBe("the customer left");
    expect(opened.complaints).toEqual([]);
  });

  test("a tenant sees its own workflows, and no other one", patience, async () => {
    await using opened = await scene.open({
      as: { role: "jobforge_app", tenant_id: tenants.globex, email: "grace@example.com" },
    });
    await opened.visit("/workflows");
    await opened.page.getByText("There is no workflow yet").waitFor();
    await opened.visit(path("waiting"));
    await opened.page
      .locator("main [role=alert], main")
      .getByText(/no such workflow|does not allow/)
      .waitFor();
    expect(await opened.page.content()).not.toContain("doc.publish");
  });
});
