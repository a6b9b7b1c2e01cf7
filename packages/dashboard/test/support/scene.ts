/** One seeded database, one server with the built dashboard, and one browser for the tests of a file. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { build } from "vite";
import { inject } from "vitest";
import { complaintsOf, launchBrowser } from "../../../../test/browser.ts";
import { type Claims, type Running, sign, startServer } from "../../../server/test/support/server.ts";
import { seed } from "./seed.ts";

export interface Scene extends AsyncDisposable {
  readonly db: TestDatabase;
  readonly http: Running;
  readonly browser: Browser;
  /** Opens a page that is signed in, or not, and collects everything that a browser complains about. */
  open(options?: OpenOptions): Promise<Opened>;
}

export interface OpenOptions {
  readonly as?: Claims | undefined;
  /** Where the dashboard is, as the browser sees it. Default: the server itself. */
  readonly url?: string;
  readonly width?: number;
}

export interface Opened extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: string[];
  /** Goes to a page and waits until it shows its data. */
  visit(path: string): Promise<void>;
}

export const operator: Claims = { role: "jobforge_operator", email: "ada@example.com" };

/** Builds the sources, so that no test sees an older build. */
export async function buildDashboard(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dashboard-"));
  const configFile = fileURLToPath(new URL("../../vite.config.ts", import.meta.url));
  await build({ configFile, build: { outDir: folder, emptyOutDir: true } });
  return folder;
}

export async function openScene(): Promise<Scene> {
  const folder = await buildDashboard();
  const db = await cloneDatabase(inject("server"));
  await seed(db, { minutes: 20 });
  const http = await startServer(db, { dashboard: { folder: pathToFileURL(`${folder}/`) } });
  const browser = await launchBrowser();
  return {
    db,
    http,
    browser,
    open: (options) => openPage(browser, http.url, options),
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      await http.server.close();
      await db.drop();
      await rm(folder, { recursive: true });
    },
  };
}

async function openPage(browser: Browser, own: string, options: OpenOptions = {}): Promise<Opened> {
  const { as, url = own, width = 1280 } = options;
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints = complaintsOf(page, new URL(url).origin);
  if (as !== undefined) {
    const signedIn = await context.request.post(`${url}/v1/session`, { data: { token: await sign(as) } });
    if (!signedIn.ok()) throw new Error(`The sign-in failed: ${await signedIn.text()}`);
  }
  return {
    page,
    context,
    complaints,
    visit: async (path) => {
      await page.goto(url + path);
      await page.locator("main h1").waitFor();
      await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** What axe finds wrong with a page, by the rules of WCAG 2.2 at level AA. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(
    `axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })
       .then(({ violations }) => violations.map(({ id, nodes }) =>
         id + ": " + nodes.slice(0, 3).map(({ html, failureSummary }) => html + " " + failureSummary).join(" | ")))`,
  );
  return found as string[];
}
