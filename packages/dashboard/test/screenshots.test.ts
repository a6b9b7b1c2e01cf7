/**
 * The pictures of the documentation: twelve pages, light and dark, wide and narrow, from seeded data at a fixed time.
 * `npm run screenshots` makes them. Without it, this test makes half of them again and compares: it fails if a page has
 * changed so much that its picture misleads.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { differenceOf, picture } from "./support/pictures.ts";
import { type Opened, openScene, operator, type Scene } from "./support/scene.ts";
import { beatAll, tenants } from "./support/seed.ts";

const isMaking = process.env["JOBFORGE_SCREENSHOTS"] === "1";
const folder = fileURLToPath(new URL("../../../docs/guides/dashboard/", import.meta.url));
/** Three in the morning of an ordinary day, a little later. */
const moment = new Date("2026-03-11T03:12:00Z");
const patience = { timeout: 300_000 };

const names = [
  "overview",
  "jobs",
  "job",
  "dead",
  "type",
  "workflow",
  "schedule",
  "webhook",
  "tenants",
  "controls",
  "usage",
  "workers",
] as const;
type Name = (typeof names)[number];

const themes = ["light", "dark"] as const;
const widths = [1440, 390] as const;
const heights = { 1440: 900, 390: 844 } as const;

const fileOf = (name: Name, theme: string, width: number): string => `${name}-${theme}-${width}.webp`;
const allFiles = names.flatMap((name) =>
  themes.flatMap((theme) => widths.map((width) => fileOf(name, theme, width))),
);

/** What fits into a repository that people clone. */
const mostBytes = 80_000;

test.skipIf(isMaking)("each page has its pictures, and they are small", async () => {
  const found = (await readdir(folder)).filter((file) => file.endsWith(".webp"));
  expect(found.sort()).toEqual([...allFiles].sort());
  for (const file of found) expect((await readFile(folder + file)).length, file).toBeLessThan(mostBytes);
});

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  let paths: Readonly<Record<Name, string>>;
  beforeAll(async () => {
    scene = await openScene({ moment, minutes: 60, every: 1 });
    paths = await pathsOf(scene);
    if (isMaking) await mkdir(folder, { recursive: true });
  }, 300_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  async function open(theme: "light" | "dark", width: 1440 | 390): Promise<Opened> {
    const opened = await scene.open({
      as: operator,
      width,
      height: heights[width],
      timezoneId: "Europe/Berlin",
    });
    await opened.page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    return opened;
  }

  async function show({ page, visit }: Opened, name: Name): Promise<Page> {
    await beatAll(scene.db);
    // The database's clock goes on while pictures are made. A page shows the same time.
    await page.clock.setFixedTime(await scene.db.value<Date>("select jobforge.now()"));
    await visit(paths[name]);
    await page.getByText("Live", { exact: true }).waitFor({ state: "attached" });
    await page.evaluate("document.fonts.ready");
    // Charts are drawn once they are loaded.
    await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
    return page;
  }

  test.skipIf(!isMaking)("makes all pictures", { timeout: 1_200_000 }, async () => {
    for (const theme of themes)
      for (const width of widths) {
        await using opened = await open(theme, width);
        for (const name of names) {
          const page = await show(opened, name);
          await writeFile(folder + fileOf(name, theme, width), await picture(page));
        }
        expect(opened.complaints).toEqual([]);
      }
  });

  // Each page, each theme and each width: half of the pictures tell as much as all of them.
  test.skipIf(isMaking).for([
    ["light", 1440],
    ["dark", 390],
  ] as const)("the pictures show what the pages show (%s, %i px)", patience, async ([theme, width]) => {
    await using opened = await open(theme, width);
    for (const name of names) {
      const page = await show(opened, name);
      const kept = await readFile(folder + fileOf(name, theme, width));
      expect(await differenceOf(page, kept, await picture(page)), name).toBeLessThan(0.04);
    }
  });
});

async function pathsOf({ db, seeded }: Scene): Promise<Record<Name, string>> {
  const dead = await db.value<string>(
    "select id from jobforge_jobs where type = 'invoice.render' and status = 'dead' order by id desc limit 1",
  );
  const tenant = await db.value<string>("select tenant_id from jobforge_jobs where id = $1", [dead]);
  return {
    overview: "/",
    jobs: "/jobs?type=mail.send&type=invoice.render&type=image.resize&type=webhook.deliver",
    job: `/jobs/${dead}?of=${tenant}`,
    dead: "/dead",
    type: "/types/mail.send",
    workflow: `/workflows/${seeded.workflows.waiting}?of=${tenants.acme}`,
    schedule: `/schedules/report.build/daily?of=${tenants.acme}`,
    webhook: `/webhooks/${seeded.webhooks.failing}?of=${tenants.acme}`,
    tenants: "/tenants",
    controls: "/controls",
    usage: "/usage",
    workers: "/workers",
  };
}
