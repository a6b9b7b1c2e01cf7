/** What every page shows when it has no data, may not have it, must wait for it, or gets none. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { detailsOf, lists, type PageUnderTest } from "./support/pages.ts";
import { openScene, operator, type Scene, violations } from "./support/scene.ts";

const patience = { timeout: 180_000 };

/** The requests for data: not those for who is signed in, and not the stream. */
const isData = ({ pathname }: URL): boolean =>
  pathname.includes("/v1/") && !/\/v1\/(me|ui|session|stream)$/.test(pathname);

const answer = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  contentType: "application/problem+json",
  headers,
  body: JSON.stringify(body),
});

/** Waits until nothing of the page is still loading. */
async function settled(page: Page): Promise<void> {
  await page.locator("main h1").waitFor();
  await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
}

describe.skipIf(!hasBrowser)("without any data", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene({ isEmpty: true });
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test("each page says that there is nothing, and what to do", patience, async () => {
    await using opened = await scene.open({ as: operator });
    for (const { path, empty } of lists) {
      await opened.visit(path);
      if (empty !== undefined) await opened.page.locator("main").getByText(empty).first().waitFor();
      expect(await violations(opened.page), path).toEqual([]);
    }
    expect(opened.complaints).toEqual([]);
  });

  test("the lines that enqueue the first job work as they are shown", patience, async () => {
    await using opened = await scene.open({ as: operator });
    await opened.visit("/jobs");
    const sample = (await opened.page.locator("main pre").textContent()) ?? "";
    // In this folder, because Node looks for packages above the file.
    const folder = await mkdtemp(fileURLToPath(new URL("../dist/sample-", import.meta.url)));
    try {
      const file = join(folder, "first.mjs");
      await writeFile(file, `${sample}\nawait forge.close();\n`);
      await promisify(execFile)(process.execPath, [file], { env: { DATABASE_URL: scene.db.url } });
    } finally {
      await rm(folder, { recursive: true });
    }
    const jobs = await scene.db.query(
      "select type, payload, tenant_id = jobforge_tenant_id('org_123') as own from jobforge_jobs",
    );
    expect(jobs).toEqual([{ type: "mail.send", payload: { to: "ada@example.com" }, own: true }]);
    await scene.db.query("select jobforge_cancel_job(id, tenant_id) from jobforge_jobs");
    await scene.db.query(
      'select jobforge_purge_jobs(tenant_id, \'{"status": "canceled"}\') from jobforge_jobs',
    );
  });

  test("the first job can be sent from the page", patience, async () => {
    await using opened = await scene.open({ as: operator });
    await opened.visit("/jobs");
    await opened.page.getByRole("button", { name: "Send a test job" }).click();
    await opened.page.getByRole("link", { name: "hello.dashboard" }).waitFor();
    await opened.page.getByText("no worker").waitFor();
    expect(opened.complaints).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("with data", () => {
  let scene: Scene;
  let pages: readonly PageUnderTest[];
  beforeAll(async () => {
    scene = await openScene();
    pages = [...lists, ...(await detailsOf(scene))];
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  const statuses: readonly (readonly [number, object, RegExp])[] = [
    [
      403,
      { title: "Forbidden", detail: "It is not for you.", code: "42501" },
      /Your key does not allow this/,
    ],
    [429, { title: "Too many requests", detail: "Slow down.", hint: "Ask less often." }, /Slow down/],
    [503, { title: "Unavailable", detail: "The database is restarting." }, /The database is restarting/],
  ];
  test.for(statuses)("a status of %i is said on every page", patience, async ([status, body, words]) => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    const headers = status === 403 ? {} : { "retry-after": "0" };
    await page.route(isData, (route) => route.fulfill(answer(status, body, headers)));
    for (const { path, isStatic } of pages) {
      await page.goto(`${scene.url}${path}`);
      await settled(page);
      if (isStatic) continue;
      await page.locator("main").getByText(words).first().waitFor();
      // A page that asks again, because the stream has opened, shows for a moment that it loads.
      await expect
        .poll(() => page.locator("main").textContent(), { message: path, timeout: 20_000 })
        .toContain(`HTTP ${status}`);
      const again = page.locator("main").getByRole("button", { name: "Try again" });
      await expect
        .poll(async () => (await again.count()) > 0, { message: path, timeout: 20_000 })
        .toBe(status !== 403);
    }
  });

  test(
    "a session that ended asks to sign in, on every page, and shows that page afterwards",
    patience,
    async () => {
      await using opened = await scene.open();
      for (const { path } of pages) {
        await opened.page.goto(`${scene.url}${path}`);
        await opened.page.getByLabel("Key or token").waitFor();
        expect(new URL(opened.page.url()).pathname).toBe(scene.prefix + path.split("?")[0]);
      }
      expect(opened.complaints).toEqual([]);
    },
  );

  test("a slow answer shows the frame and that it loads, and never an empty list", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    const held: Route[] = [];
    await page.route(isData, (route) => void held.push(route));
    for (const { path, empty, isStatic } of pages) {
      await page.goto(`${scene.url}${path}`);
      await page.locator("main h1").waitFor();
      if (isStatic) continue;
      await page.locator("main").getByRole("status", { name: "Loading" }).first().waitFor();
      if (empty !== undefined) expect(await page.locator("main").textContent(), path).not.toMatch(empty);
    }
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.goto(`${scene.url}/jobs`);
    await page.getByRole("link", { name: "mail.send" }).first().waitFor();
  });

  test("old rows stay while a new filter loads, and a failed reload keeps them, too", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/jobs");
    const rows = page.locator("main tbody tr");
    expect(await rows.count()).toBeGreaterThan(10);
    const held: Route[] = [];
    await page.route("**/v1/jobs?*", (route) => void held.push(route));
    await page.getByRole("navigation", { name: "States" }).getByRole("link", { name: "dead" }).click();
    await expect.poll(() => held.length).toBeGreaterThan(0);
    expect(await rows.count()).toBeGreaterThan(10);
    await Promise.all(
      held.map((route) => route.fulfill(answer(500, { title: "Broken", detail: "It broke." }))),
    );
    await page.getByRole("alert").getByText("It broke").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => page.getByRole("alert").count()).toBe(0);
    await expect.poll(() => page.url()).toContain("status=dead");
    await page.getByText("dead", { exact: true }).first().waitFor();
  });

  test("one panel fails alone", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await page.route("**/v1/attention*", (route) =>
      route.fulfill(answer(500, { title: "Broken", detail: "The list of trouble is in trouble." })),
    );
    await page.goto(`${scene.url}/`);
    await page.getByText("The list of trouble is in trouble").waitFor();
    await page.getByRole("heading", { name: "Over time" }).waitFor();
    await page.getByRole("region", { name: "Why jobs wait" }).getByRole("table").waitFor();
  });
});
