/** What the dashboard promises to people at any address, in any zone, and when things go wrong. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { hasBrowser, launchBrowser } from "../../../test/browser.ts";
import { startServer } from "../../server/test/support/server.ts";
import { detailsOf, lists } from "./support/pages.ts";
import { startProxy } from "./support/proxy.ts";
import { behind, type Opened, openScene, operator, type Scene, violations } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 300_000 };

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  let paths: readonly string[];
  beforeAll(async () => {
    scene = await openScene();
    paths = [...lists, ...(await detailsOf(scene))].map(({ path }) => path);
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  // With JOBFORGE_DASHBOARD_PREFIX, every test is at a prefix.
  describe.skipIf(behind !== undefined)("at a prefix", () => {
    test.for([false, true])(
      "deep links, back and forward work (the proxy keeps it: %s)",
      patience,
      async (keeps) => {
        await using own = keeps
          ? await startServer(scene.db, { dashboard: { folder: scene.folder }, basePath: "/a/b" })
          : undefined;
        await using proxy = await startProxy(own?.url ?? scene.http.url, "/a/b", keeps);
        await using opened = await scene.open({ as: operator, url: proxy.url });
        const { page } = opened;
        const asked: string[] = [];
        page.on("request", (request) => asked.push(new URL(request.url()).pathname));
        await opened.visit(`/types/mail.send?tenant=${tenants.acme}`);
        await page.getByRole("heading", { name: "mail.send" }).waitFor();
        await page.getByRole("link", { name: "Its jobs" }).click();
        await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
        await page.getByRole("link", { name: "mail.send" }).first().click();
        await page.getByRole("heading", { name: "Timeline" }).waitFor();
        expect(new URL(page.url()).pathname).toMatch(/^\/a\/b\/jobs\/[\da-f-]{36}$/);
        await page.goBack();
        await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
        expect(page.url()).toContain("type=mail.send");
        await page.goForward();
        await page.getByRole("heading", { name: "Timeline" }).waitFor();
        await page.reload();
        await page.getByRole("heading", { name: "Timeline" }).waitFor();
        for (const path of paths) await opened.visit(path);
        await page.getByRole("link", { name: "JobForge" }).first().click();
        await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
        expect(new URL(page.url()).pathname).toBe("/a/b/");
        expect(asked.filter((path) => !path.startsWith("/a/b/"))).toEqual([]);
        expect(opened.complaints).toEqual([]);
      },
    );
  });

  test.for([320, 768, 1024, 1280])("no page is wider than a screen of %i px", patience, async (width) => {
    await using opened = await scene.open({ as: operator, width });
    expect(await tooWide(opened, width)).toEqual([]);
  });

  test("with text of twice the size, no page is wider than the screen", patience, async () => {
    const browser = await launchBrowser(["--blink-settings=defaultFontSize=32,defaultFixedFontSize=26"]);
    onTestFinished(() => browser.close());
    await using opened = await scene.open({ as: operator, width: 1280, browser });
    expect(await tooWide(opened, 1280)).toEqual([]);
    const size = await opened.page.evaluate(
      "parseFloat(getComputedStyle(document.querySelector('h1')).fontSize)",
    );
    expect(size).toBeGreaterThan(32);
  });

  async function tooWide({ page, visit }: Opened, width: number): Promise<string[]> {
    const wide: string[] = [];
    for (const path of paths) {
      await visit(path);
      const found = Number(await page.evaluate("document.documentElement.scrollWidth"));
      if (found > width) wide.push(`${path}: ${found}`);
      // What is cut off is not wider than the page, and no reader can see it.
      const cut = (await page.evaluate(
        `[...document.querySelectorAll("main table")]
           .filter((table) => table.checkVisibility() && table.offsetWidth > table.parentElement.clientWidth + 1
             && getComputedStyle(table.parentElement).overflowX !== "auto")
           .map((table) => table.caption?.textContent + ": " + table.offsetWidth)`,
      )) as string[];
      wide.push(...cut.map((each) => `${path}: ${each}`));
    }
    return wide;
  }

  test(
    "pages pass axe with forced colours and at 390 px, and nothing moves if the user asks so",
    patience,
    async () => {
      await using opened = await scene.open({ as: operator, width: 390 });
      const { page } = opened;
      await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
      const found: string[] = [];
      for (const path of paths) {
        await opened.visit(path);
        found.push(...(await violations(page)).map((each) => `${path} ${each}`));
        const moving = await page.evaluate(
          "document.getAnimations().filter((each) => each.effect.getComputedTiming().duration > 1).length",
        );
        if (moving !== 0) found.push(`${path}: ${moving} animations`);
      }
      expect(found).toEqual([]);
    },
  );

  test(
    "the palette goes to pages, to a job by its id, and changes the theme, by keyboard alone",
    patience,
    async () => {
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      await opened.visit("/");
      await page.keyboard.press("Control+k");
      await page.keyboard.type("limits");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Limits and pauses", level: 1 }).waitFor();
      const id = await scene.db.value<string>(
        "select id from jobforge_jobs where type = 'mail.send' and status = 'succeeded' limit 1",
      );
      await page.keyboard.press("Control+k");
      await page.keyboard.insertText(id);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "How it ended" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("dark");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
      expect(opened.complaints).toEqual([]);
    },
  );

  test("times are relative, local or UTC, and the choice is kept", patience, async () => {
    await using opened = await scene.open({ as: operator, timezoneId: "America/New_York" });
    const { page } = opened;
    await opened.visit("/audit");
    const time = page.locator("main time").first();
    expect(await time.textContent()).toMatch(/ago|now/);
    await page.keyboard.press("z");
    const at = new Date((await time.getAttribute("datetime")) ?? "");
    const hours = (zone: string): string =>
      new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" }).format(at);
    await expect.poll(() => time.textContent()).toContain(hours("America/New_York"));
    await page.keyboard.press("z");
    await expect.poll(() => time.textContent()).toContain(hours("UTC"));
    await page.reload();
    await expect.poll(() => time.textContent()).toContain(hours("UTC"));
    await opened.visit(`/schedules/report.build/daily?of=${tenants.acme}`);
    await page.locator("main").getByText("Europe/Berlin").first().waitFor();
  });

  test("what a page shows can be copied as CLI, curl and SQL, and the SQL runs", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page, context } = opened;
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const copied = async (name: string): Promise<string> => {
      await page.getByRole("button", { name: "Copy as" }).click();
      await page.getByRole("button", { name }).click();
      return String(await page.evaluate("navigator.clipboard.readText()"));
    };
    await opened.visit("/jobs?status=dead&type=image.resize");
    expect(await copied("CLI")).toBe("jobforge jobs list --status dead --type image.resize");
    expect(await copied("curl")).toContain("/v1/jobs?status=dead&type=image.resize");
    const rows = await scene.db.query(await copied("SQL"));
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map((row) => `${String(row["type"])} ${String(row["status"])}`))).toEqual(
      new Set(["image.resize dead"]),
    );
  });

  test("numbers keep all their digits, shown and copied", patience, async () => {
    const id = await scene.db.value<string>(
      "select id from jobforge_jobs where type = 'ledger.sync' and payload ? 'account' limit 1",
    );
    await using opened = await scene.open({ as: operator });
    await opened.visit(`/jobs/${id}?of=${tenants.initech}`);
    await opened.page.locator("main").getByText("9007199254740993").waitFor();
    await opened.page.keyboard.press("e");
    await expect
      .poll(() => opened.page.getByRole("textbox", { name: "Payload" }).inputValue())
      .toContain("9007199254740993");
  });

  test("JSON has its commas where people write them, open and folded", patience, async () => {
    const { id } = await scene.db.value<{ id: string }>(
      `select jobforge_enqueue_job($1, 'json.lines', '{"a": {"b": [1, []]}, "d": {"e": "x"}, "f": null}')`,
      [tenants.initech],
    );
    await using opened = await scene.open({ as: operator });
    await opened.visit(`/jobs/${id}?of=${tenants.initech}`);
    const panel = opened.page.getByRole("region", { name: "Payload" });
    const lines = async (): Promise<string[]> =>
      // biome-ignore lint/performance/useDomNodeTextContent: lines are what is laid out.
      (await panel.innerText())
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");
    const text = (await lines()).join("");
    expect(JSON.parse(text.slice(text.indexOf("{")))).toEqual({ a: { b: [1, []] }, d: { e: "x" }, f: null });
    expect((await lines()).filter((line) => line.startsWith(","))).toEqual([]);
    await panel.locator("summary").nth(1).click();
    expect((await lines()).filter((line) => line.startsWith(","))).toEqual([]);
  });

  describe("tenants", () => {
    test(
      "a tenant sees its own only: in answers, in the page, and after an operator signed out",
      patience,
      async () => {
        await using opened = await scene.open({ as: operator });
        const { page, context } = opened;
        await opened.visit("/jobs");
        await page.getByRole("button", { name: /^Sign out/ }).click();
        await page.getByLabel("Key or token").waitFor();
        await context.clearCookies();
        const tenant = { role: "jobforge_app", tenant_id: tenants.globex };
        await using own = await scene.open({ as: tenant, context });
        const bodies: Promise<string>[] = [];
        own.page.on("response", (response) => {
          if (response.url().includes("/v1/") && !response.url().includes("/v1/stream"))
            bodies.push(response.text().catch(() => ""));
        });
        const seen: string[] = [];
        for (const path of [
          "/",
          "/jobs",
          "/dead",
          "/workflows",
          "/schedules",
          "/webhooks",
          "/usage",
          "/audit",
        ]) {
          await own.visit(path);
          seen.push(await own.page.content());
        }
        const others = [tenants.acme, tenants.initech, tenants.umbrella, "Initech", "Umbrella"];
        for (const text of [...seen, ...(await Promise.all(bodies))])
          for (const other of others) expect(text).not.toContain(other);
        const kept = await own.page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })");
        expect(kept).not.toContain(tenants.acme);
        const other = await own.page.request.get(`${scene.url}/v1/jobs?tenant_id=${tenants.acme}`);
        expect([403, 404]).toContain(other.status());
      },
    );
  });
});
