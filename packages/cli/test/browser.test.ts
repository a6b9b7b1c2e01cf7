/** The dashboard of `npm start` in a real browser. */
import { join } from "node:path";
import { globalTenant } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { complaintsOf, hasBrowser, launchBrowser } from "../../../test/browser.ts";
import { lists } from "../../dashboard/test/support/pages.ts";
import { startNode } from "./child.ts";
import { repository } from "./files.ts";
import { test } from "./support.ts";

describe.skipIf(!hasBrowser)("in a browser", () => {
  test("npm start ends in the dashboard, which shows new jobs by itself", {
    timeout: 120_000,
  }, async ({ empty }) => {
    const start = startNode(join(repository, "scripts/start.js"), [], {
      cwd: repository,
      env: { DATABASE_URL: empty.url, JOBFORGE_SKIP_PREPARE: "1", PORT: "0" },
    });
    await start.printed("The worker runs until Ctrl-C");
    const [, url = "", token = ""] = /Open (http:\S+)\/\?token=(\S+) /.exec(start.stdout()) ?? [];
    await using browser = await launchBrowser();
    const page = await browser.newPage();
    const complaints = complaintsOf(page, url);
    await page.goto(`${url}/?token=${token}`);
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    // The token is a cookie now, which no script can read, and no longer in the address.
    expect(page.url()).toBe(`${url}/`);
    expect(await page.evaluate("document.cookie")).toBe("");
    const types = ["demo.greet", "demo.broken", "demo.refused"];
    await page.goto(`${url}/jobs?${types.map((type) => `type=${type}`).join("&")}`);
    for (const type of types) await page.getByRole("link", { name: type }).first().waitFor();
    await page.getByText("Live", { exact: true }).waitFor();

    // Every page has something to show soon, and shows it by itself: a page that is empty is not loaded again.
    for (const { path, empty } of lists) {
      await page.goto(url + path);
      await page.locator("main h1").waitFor();
      if (empty === undefined) continue;
      const text = async (): Promise<string> => (await page.locator("main").textContent()) ?? "";
      await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
      await expect.poll(text, { message: path, timeout: 30_000 }).not.toMatch(empty);
    }

    await page.goto(`${url}/jobs?type=demo.greet`);
    await page.getByText("Live", { exact: true }).waitFor();
    // A new job is announced without reloading the page.
    await page.evaluate("globalThis.isTheSame = true");
    await enqueue(url, token, "demo.greet", { name: "the browser" });
    await page.getByRole("button", { name: /new/ }).click();
    expect(await page.evaluate("globalThis.isTheSame")).toBe(true);
    expect(complaints).toEqual([]);

    // A script injected into the page cannot run or send data elsewhere.
    const injected = `{
      const script = document.createElement("script");
      script.src = "data:text/javascript,globalThis.isEvil=true";
      document.body.append(script);
    }`;
    await page.evaluate(injected).catch(() => undefined);
    expect(await page.evaluate("globalThis.isEvil")).toBeUndefined();
    expect(await page.evaluate("fetch('http://127.0.0.1:1/').catch(() => 'refused')")).toBe("refused");
    expect(complaints.join("\n")).toContain("connect-src");

    // The page says when the server is gone.
    start.process.kill("SIGINT");
    expect(await start.ended).toEqual({ code: 0, signal: null });
    await page
      .getByText(/not connected/i)
      .first()
      .waitFor();
  });
});

async function enqueue(url: string, token: string, type: string, payload: object): Promise<void> {
  const response = await fetch(`${url}/v1/jobs?tenant_id=${globalTenant}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ type, payload }),
  });
  expect(response.status).toBe(201);
}
