/** The page of `npm start` in a real browser. */
import { join } from "node:path";
import { globalTenant } from "@jobforge/sdk-ts";
import { type Browser, chromium, type Page } from "playwright-core";
import { describe, expect } from "vitest";
import { findTool } from "../../../scripts/tools.js";
import { startNode } from "./child.ts";
import { repository } from "./files.ts";
import { test } from "./support.ts";

/** Undefined if it is not available. Then this test is skipped, and `findTool` has printed a line about it. */
const tool = await findTool("chromium-headless-shell");

/** As root it has no sandbox, and it only shows our own page. */
const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: tool?.path ?? "",
    env: { ...tool?.env } as Record<string, string>,
    args: ["--no-sandbox"],
  });

/** Collects the errors and warnings of the browser, and requests to other origins. */
function complaintsOf(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`request: ${request.url()}`);
  });
  return complaints;
}

const row = (page: Page, type: string, status: string): ReturnType<Page["locator"]> =>
  page.locator("tr", { hasText: type }).filter({ has: page.locator("td", { hasText: status }) });

/** Returns the words of the tables that are shown in more than one line. */
const brokenWords = `[...document.querySelectorAll("th, td:not(.text)")].flatMap((cell) => {
  const text = cell.firstChild?.firstChild ?? cell.firstChild;
  if (text?.nodeType !== Node.TEXT_NODE) return [];
  return [...text.data.matchAll(/\\S+/g)].flatMap(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1 ? [word] : [];
  });
})`;

const evil = `<img src="x" onerror="alert(1)">`;

describe.skipIf(tool === undefined)("in a browser", () => {
  test("the page shows how jobs finished, updates itself, and runs no foreign scripts", {
    timeout: 120_000,
  }, async ({ empty }) => {
    const start = startNode(join(repository, "scripts/start.js"), [], {
      cwd: repository,
      env: { DATABASE_URL: empty.url, JOBFORGE_SKIP_PREPARE: "1", PORT: "0" },
    });
    await start.printed("The worker runs until Ctrl-C");
    const [, url = "", token = ""] = /Open (http:\S+)\/\?token=(\S+) /.exec(start.stdout()) ?? [];
    await using browser = await launch();
    const page = await browser.newPage();
    const complaints = complaintsOf(page, url);
    expect((await fetch(url)).status, "without the token").toBe(401);
    await page.goto(`${url}/?token=${token}`);
    await page.getByText("Live", { exact: true }).waitFor();
    for (const [type, status] of [
      ["demo.greet", "succeeded"],
      ["demo.patient", "retrying"],
      ["demo.greet", "scheduled"],
      ["demo.broken", "dead"],
      ["demo.refused", "failed"],
    ] as const)
      expect(await row(page, type, status).count(), `${type} ${status}`).toBeGreaterThan(0);
    expect(await page.locator("caption").allTextContents()).toHaveLength(3);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate(brokenWords), `${width} px`).toEqual([]);
      // Wide tables scroll inside the page.
      expect(await page.evaluate("document.documentElement.scrollWidth"), `${width} px`).toBe(width);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    // The token is a cookie now, which no script can read, and no longer in the address.
    expect(page.url()).toBe(`${url}/`);
    expect(await page.evaluate("document.cookie")).toBe("");
    await page.reload();
    await page.getByText("Live", { exact: true }).waitFor();

    // A new job and its end are shown without reloading the page.
    await page.evaluate("globalThis.isTheSame = true");
    const id = await enqueue(url, token, "demo.greet", { name: "the browser" });
    await page.locator("tr", { hasText: id }).filter({ hasText: "succeeded" }).waitFor();
    await empty.query("select jobforge_set_tenant($1, $2)", [globalTenant, { label: evil }]);
    const odd = await enqueue(url, token, "demo.greet", {});
    await page.locator("tr", { hasText: odd }).filter({ hasText: evil }).waitFor();
    expect(await page.evaluate("globalThis.isTheSame")).toBe(true);
    expect(complaints).toEqual([]);

    // A script injected into the page cannot run or send data elsewhere.
    await page.evaluate(`{
      const script = document.createElement("script");
      script.textContent = "globalThis.isEvil = true";
      document.body.append(script);
    }`);
    expect(await page.evaluate("globalThis.isEvil")).toBeUndefined();
    expect(await page.evaluate("fetch('http://127.0.0.1:1/').catch(() => 'refused')")).toBe("refused");
    expect(complaints.join("\n")).toMatch(/script-src[\s\S]*connect-src/);

    // The page says when the server is gone.
    start.process.kill("SIGINT");
    expect(await start.ended).toEqual({ code: 0, signal: null });
    await page.getByText("Not connected: the data may be outdated").waitFor();
  });
});

async function enqueue(url: string, token: string, type: string, payload: object): Promise<string> {
  const response = await fetch(`${url}/v1/jobs?tenant_id=${globalTenant}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ type, payload }),
  });
  return ((await response.json()) as { id: string }).id;
}
