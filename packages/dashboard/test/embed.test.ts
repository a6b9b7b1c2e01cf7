/** The dashboard inside a page of another origin: without its own navigation, and only where the server allows it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Frame, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { sign, startServer } from "../../server/test/support/server.ts";
import { openScene, type Scene } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 120_000 };
const tenant = { role: "jobforge_app", tenant_id: tenants.acme } as const;

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  /** A page of another origin of the same site, as `app.example.com` is for `jobs.example.com`. */
  async function host(): Promise<{ readonly origin: string; show(address: string): void }> {
    let shown = "";
    const server = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(
        `<!doctype html><title>Product</title><iframe width=900 height=700 src="${shown}"></iframe>`,
      );
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    onTestFinished(() => void server.close());
    return {
      origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      show: (address) => {
        shown = address;
      },
    };
  }

  async function framed(page: Page, isAllowed: boolean): Promise<Frame> {
    const { origin, show } = await host();
    const http = await startServer(scene.db, {
      dashboard: { folder: scene.folder, ...(isAllowed && { frameOrigins: [origin] }) },
    });
    onTestFinished(() => http.server.close());
    const signedIn = await page.context().request.post(`${http.url}/v1/session`, {
      data: { token: await sign(tenant) },
    });
    expect(signedIn.ok()).toBe(true);
    show(`${http.url}/jobs?embed=1`);
    await page.goto(origin);
    const [, frame] = page.frames();
    if (frame === undefined) throw new Error("The page has no frame");
    return frame;
  }

  test("a tenant's pages work in a frame, and their links stay in it", patience, async () => {
    await using opened = await scene.open();
    const frame = await framed(opened.page, true);
    await frame.getByRole("link", { name: "mail.send" }).first().waitFor();
    expect(await frame.getByRole("navigation", { name: "Pages" }).count()).toBe(0);
    await frame.getByRole("link", { name: "mail.send" }).first().click();
    await frame.getByRole("heading", { name: "Timeline" }).waitFor();
    expect(new URL(frame.url()).searchParams.get("embed")).toBe("1");
    expect(await frame.getByRole("banner").count()).toBe(0);
  });

  test("a page that the server does not name shows nothing of it", patience, async () => {
    await using opened = await scene.open();
    const refused = opened.page.waitForEvent("console", {
      predicate: (message) => message.text().includes("frame-ancestors"),
    });
    const frame = await framed(opened.page, false);
    await refused;
    expect(await frame.locator("main").count()).toBe(0);
  });
});
