/** One seeded database, one server with the built dashboard, and one browser for the tests of a file. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { webhookSecrets } from "@jobforge/connectors";
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { build } from "vite";
import { inject } from "vitest";
import { complaintsOf, launchBrowser } from "../../../../test/browser.ts";
import { type Claims, type Running, sign, startServer } from "../../../server/test/support/server.ts";
import { startProxy } from "./proxy.ts";
import { offsetTo, type Seeded, type SeedOptions, seed } from "./seed.ts";

export interface Scene extends AsyncDisposable {
  readonly db: TestDatabase;
  readonly seeded: Seeded;
  /** Where the built dashboard is. */
  readonly folder: URL;
  readonly http: Running;
  /** Where the dashboard is, as the browser sees it. */
  readonly url: string;
  /** The path of that address: empty without a proxy. */
  readonly prefix: string;
  readonly browser: Browser;
  /** Opens a page that is signed in, or not, and collects everything that a browser complains about. */
  open(options?: OpenOptions): Promise<Opened>;
}

export interface OpenOptions {
  readonly as?: Claims | undefined;
  /** Where the dashboard is, as the browser sees it. Default: the server itself. */
  readonly url?: string;
  readonly width?: number;
  readonly height?: number;
  readonly timezoneId?: string;
  /** A browser that was started with other settings. */
  readonly browser?: Browser;
  /** Another page of the same browser, with what it has kept. */
  readonly context?: BrowserContext;
}

export interface Opened extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: string[];
  /** Goes to a page and waits until it shows its data. */
  visit(path: string): Promise<void>;
}

export const operator: Claims = { role: "jobforge_operator", email: "ada@example.com" };

const root = new URL("../../", import.meta.url);

/**
 * With JOBFORGE_DASHBOARD_PREFIX=removed or kept, every scene is behind a proxy that has the dashboard at this path,
 * and removes the path or passes it on. So all tests of a browser can be run at a prefix.
 */
const prefix = "/a/b";
export const behind: string | undefined = process.env["JOBFORGE_DASHBOARD_PREFIX"];

/**
 * Builds the sources, so that no test sees an older build. Sources that were built before are not built again: the
 * folder of a build is named after what they contain. Returns the folder, which belongs to all tests.
 */
export async function buildDashboard(): Promise<string> {
  const builds = fileURLToPath(new URL("dist/", root));
  const folder = join(builds, await sourcesHash());
  if (existsSync(folder)) return folder;
  await mkdir(builds, { recursive: true });
  const work = await mkdtemp(join(builds, "building-"));
  const configFile = fileURLToPath(new URL("vite.config.ts", root));
  await build({ configFile, build: { outDir: work, emptyOutDir: true } });
  // Another process may have built the same at the same time.
  await rename(work, folder).catch(() => rm(work, { recursive: true }));
  return folder;
}

async function sourcesHash(): Promise<string> {
  const sources = await readdir(new URL("src/", root), { recursive: true, withFileTypes: true });
  const files = sources
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const others = ["index.html", "vite.config.ts", "../../package-lock.json"].map((name) =>
    fileURLToPath(new URL(name, root)),
  );
  const hash = createHash("sha256");
  for (const file of [...files.sort(), ...others]) hash.update(file).update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

export async function openScene(options: SeedOptions = {}): Promise<Scene> {
  const { moment } = options;
  const folder = await buildDashboard();
  const db = await cloneDatabase(inject("server"));
  const seeded = await seed(db, { minutes: 20, ...options });
  // Other connections see the same moment.
  if (moment !== undefined)
    await db.query(
      `do $$ begin execute format('alter database %I set jobforge.clock_offset = %L', current_database(), '${offsetTo(moment)}'); end $$`,
    );
  const address = pathToFileURL(`${folder}/`);
  const http = await startServer(db, {
    dashboard: { folder: address },
    webhookSecrets: webhookSecrets({ default: Buffer.alloc(32, 7) }),
    ...(behind === "kept" && { basePath: prefix }),
  });
  const proxy = behind === undefined ? undefined : await startProxy(http.url, prefix, behind === "kept");
  const url = proxy?.url ?? http.url;
  const browser = await launchBrowser();
  return {
    db,
    seeded,
    folder: address,
    http,
    url,
    prefix: proxy === undefined ? "" : prefix,
    browser,
    open: (options) => openPage(browser, url, options),
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      await proxy?.[Symbol.asyncDispose]();
      await http.server.close();
      await db.drop();
    },
  };
}

async function openPage(browser: Browser, own: string, options: OpenOptions = {}): Promise<Opened> {
  const { as, url = own, width = 1280, height = 900, timezoneId } = options;
  const context =
    options.context ??
    (await (options.browser ?? browser).newContext({
      viewport: { width, height },
      ...(timezoneId && { timezoneId }),
    }));
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
    [Symbol.asyncDispose]: () => (options.context === undefined ? context.close() : page.close()),
  };
}

/** The path of a request, as the server knows it without a proxy. */
export function pathOf({ prefix: own }: Scene, request: { url(): string }): string {
  return new URL(request.url()).pathname.slice(own.length);
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
