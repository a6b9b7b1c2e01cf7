/** Texts of jobs stay texts everywhere, and each kind of caller sees and may do exactly what a table says. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { sign } from "../../server/test/support/server.ts";
import { type Planted, plantTexts, texts } from "./support/evil.ts";
import { detailsOf, lists } from "./support/pages.ts";
import { roles } from "./support/roles.ts";
import { type Opened, openScene, operator, type Scene } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 300_000 };

/** Anything that a text could have become. The pages themselves have none of it. */
const foreign = [
  "main img, main script, main iframe, main object, main embed, main video, main math, main style, main base",
  "[onerror], [onload], [onclick], [onfocus], [onmouseover], [ontoggle], [srcdoc]",
  "a[href^='javascript:' i], a[href^='data:' i], form[action^='javascript:' i]",
].join(", ");

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  let planted: Planted;
  beforeAll(async () => {
    scene = await openScene();
    planted = await plantTexts(scene.db, tenants.umbrella);
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test(
    "forty texts that could be code stay texts in every field, and no policy is broken",
    patience,
    async () => {
      expect(texts.length).toBeGreaterThanOrEqual(40);
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      const of = `?of=${tenants.umbrella}`;
      const own = `?tenant=${tenants.umbrella}`;
      const paths = [
        ...lists.map(({ path }) => path + own),
        ...planted.jobs.map((id) => `/jobs/${id}${of}`),
        `/workflows/${planted.workflow}${of}`,
        `/webhooks/${planted.webhook}${of}`,
        `/schedules/${encodeURIComponent(planted.type)}/${encodeURIComponent(planted.key)}${of}`,
        `/types/${encodeURIComponent(planted.type)}`,
        `/tenants/${tenants.umbrella}`,
      ];
      const shown = new Set<string>();
      for (const path of paths) {
        await opened.visit(path);
        const found = await page.evaluate(
          `[...document.querySelectorAll(${JSON.stringify(foreign)})].map((each) => each.outerHTML)`,
        );
        expect(found, path).toEqual([]);
        const seen = String(await page.evaluate("document.body.textContent"));
        for (const text of texts) if (seen.includes(text)) shown.add(text);
      }
      expect(texts.filter((text) => !shown.has(text))).toEqual([]);
      expect(await page.evaluate("window.pwned")).toBeUndefined();
      expect(opened.complaints).toEqual([]);
    },
  );

  test("the palette, menus and dialogs show such texts as texts, too", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit(`/jobs?tenant=${tenants.umbrella}&type=${encodeURIComponent(planted.type)}`);
    await page.keyboard.press("x");
    await page.getByRole("toolbar").getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("dialog").getByText(planted.type).first().waitFor();
    expect(await page.locator(foreign).count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.keyboard.insertText("<img");
    await page.getByRole("dialog", { name: "Go to" }).getByRole("option").first().waitFor();
    expect(await page.locator(foreign).count()).toBe(0);
    expect(opened.complaints).toEqual([]);
  });

  describe("roles", () => {
    const pagesOf = async ({ page }: Opened): Promise<string[]> =>
      (await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents())
        .map((text) => text.trim())
        .filter((text) => text !== "JobForge");

    /** The buttons of the page, each once. A name that contains a number or an id is of one row. */
    const buttonsOf = async (page: Page): Promise<string[]> => {
      const names = (await page.evaluate(
        `[...document.querySelectorAll("main button")].filter((each) => each.checkVisibility()).map((each) =>
          each.title === "Delete" ? "Delete" : each.ariaLabel ?? [...each.childNodes]
            .filter((node) => node.nodeName === "#text").map((node) => node.textContent).join("").trim())`,
      )) as string[];
      return [
        ...new Set(names.filter((name) => name !== "" && !/\d|^Apply$|Load more|Copy t/.test(name))),
      ].sort();
    };

    test.for(Object.keys(roles) as (keyof typeof roles)[])(
      "what a %s sees and may do",
      patience,
      async (role) => {
        const { as, pages, buttons, refused } = roles[role];
        await using opened = await scene.open({ as });
        await opened.visit("/");
        expect((await pagesOf(opened)).sort()).toEqual([...pages].sort());
        const found: Record<string, string[]> = {};
        for (const { path, name = path } of [...lists, ...(await detailsOf(scene))]) {
          await opened.visit(path);
          const names = await buttonsOf(opened.page);
          if (names.length > 0) found[name] = names;
        }
        expect(found).toEqual(buttons);
        const authorization = `Bearer ${await sign(as)}`;
        for (const [method, path, body] of refused) {
          const response = await fetch(`${scene.url}${path}`, {
            method,
            headers: { authorization, "content-type": "application/json" },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          });
          expect(response.status, `${method} ${path}`).toBe(403);
        }
        // A reader may not list jobs, and the browser logs that the server says so.
        expect(opened.complaints.filter((each) => role !== "reader" || !each.includes("403"))).toEqual([]);
      },
    );

    test("an operator who switches tenants keeps nothing of the one before", patience, async () => {
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      await opened.visit(`/jobs?tenant=${tenants.acme}`);
      await page.locator("main td", { hasText: "Acme" }).first().waitFor();
      await page.getByRole("combobox", { name: "Tenant" }).selectOption({ label: "Globex" });
      await expect.poll(() => page.locator("main td", { hasText: "Acme" }).count()).toBe(0);
      await page.locator("main td", { hasText: "Globex" }).first().waitFor();
      expect(await page.locator("main").innerHTML()).not.toContain(tenants.acme);
      expect(page.url()).not.toContain(tenants.acme);
    });
  });
});
