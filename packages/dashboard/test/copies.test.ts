/** What pages show can be had in three other ways, and each of them works as it is copied. */
import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { run } from "../../cli/test/support.ts";
import { sign } from "../../server/test/support/server.ts";
import { openScene, operator, type Scene } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 180_000 };

/** Pages, and how many menus each has. */
const pages: readonly (readonly [string, number])[] = [
  [`/jobs?status=dead&tenant=${tenants.acme}`, 1],
  ["/dead", 1],
  ["/types", 1],
  ["/types/mail.send", 1],
  ["/schedules", 1],
  [`/schedules?show=disabled&tenant=${tenants.acme}`, 1],
  [`/schedules/report.build/daily?of=${tenants.acme}`, 1],
  ["/tenants", 1],
  ["/controls", 2],
  ["/workers", 1],
  ["/usage", 1],
  [`/usage?by=time&days=7&tenant=${tenants.acme}`, 1],
  ["/audit", 1],
  [`/audit?action=GATE_PAUSED&entity=${encodeURIComponent("type:image.resize")}`, 1],
];

/** The words of a line for a shell, without its quotes. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(([, quoted, plain]) =>
    (quoted ?? plain ?? "").replaceAll("'\\''", "'"),
  );

test("the commands that pages name exist, with their options", async () => {
  const folder = new URL("../src/", import.meta.url);
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".tsx"));
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), "utf8")));
  const commands = texts.flatMap((text) =>
    [...text.matchAll(/<code>jobforge ([^<{]+)<\/code>/g)].map(([, command = ""]) => command.split(" ")),
  );
  expect(commands.length).toBeGreaterThan(2);
  for (const words of commands) {
    const path = words.filter((word) => /^[a-z]+$/.test(word));
    const names = path.slice(0, ["token", "schedules"].includes(path[0] ?? "") ? 2 : 1);
    const { exitCode, stdout } = await run([...names, "--help"]);
    expect([words.join(" "), exitCode]).toEqual([words.join(" "), 0]);
    expect(stdout).toContain(`jobforge ${names.join(" ")}`);
    for (const option of words.filter((word) => word.startsWith("--"))) expect(stdout).toContain(option);
  }
});

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test("each copied command, request and statement works", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    const authorization = `Bearer ${await sign(operator)}`;
    for (const [path, menus] of pages) {
      await opened.visit(path);
      const copied = page.locator("main [popover] button:has(code)");
      await expect.poll(() => copied.count(), { message: path }).toBe(3 * menus);
      for (const [index, text] of (await copied.locator("code").allTextContents()).entries()) {
        const name = await copied.nth(index).locator("b").textContent();
        const message = `${path}, ${name}: ${text}`;
        if (name === "SQL") await scene.db.query(text);
        else if (name === "curl") {
          const url = wordsOf(text).at(-1) ?? "";
          const response = await fetch(url, { headers: { authorization } });
          expect(response.status, message).toBe(200);
        } else {
          const [, ...args] = wordsOf(text);
          const { exitCode, stderr } = await run(args, { DATABASE_URL: scene.db.url });
          expect([exitCode, stderr], message).toEqual([0, ""]);
        }
      }
    }
    expect(opened.complaints).toEqual([]);
  });

  test("a menu opens at its own button, also if the page has two", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/controls");
    const buttons = page.getByRole("button", { name: "Copy as" });
    for (const index of [0, 1]) {
      const button = buttons.nth(index);
      await button.click();
      const [at, sheet] = [
        await button.boundingBox(),
        await page.locator("main [popover]:popover-open").boundingBox(),
      ];
      expect(Math.abs((sheet?.y ?? 0) - (at?.y ?? 0) - (at?.height ?? 0))).toBeLessThan(16);
      await page.keyboard.press("Escape");
    }
  });
});
