/** The built dashboard in a real browser: what people see, and what they do. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { sign } from "../../server/test/support/server.ts";
import { detailsOf, lists } from "./support/pages.ts";
import { openScene, operator, type Scene, violations } from "./support/scene.ts";

const patience = { timeout: 120_000 };
describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test("a visitor signs in with a token, and sees the page that was asked for", patience, async () => {
    await using opened = await scene.open();
    const { page } = opened;
    await page.goto(`${scene.url}/jobs`);
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
    for (const { path } of [...lists, ...(await detailsOf(scene))]) {
      await opened.visit(path);
      found.push(...(await violations(opened.page)).map((each) => `${path} ${each}`));
    }
    expect(found).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });
});
