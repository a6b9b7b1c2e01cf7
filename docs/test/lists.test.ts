/** Checks the form of the pages that are lists: the decisions and the glossary. And how pages say to install. */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { anchorOf, type Page, readPage, readPages } from "./markdown.ts";

const index = readPage("docs/decisions/README.md");
const topics: readonly Page[] = readPages().filter(
  ({ name }) => name.startsWith("docs/decisions/") && name !== index.name,
);

describe("decisions", () => {
  test.for(topics)("of $name have a date and a line in the index", ({ name, text }) => {
    const decisions = text.split(/^## /m).slice(1);
    expect(decisions.length).toBeGreaterThan(0);
    for (const decision of decisions) {
      const [heading = "", , date = ""] = decision.split("\n");
      expect(date, heading).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      expect(index.text).toContain(`[${heading}](${name.replace(/^.*\//, "")}#${anchorOf(heading)})`);
    }
  });
});

test("the glossary has at most 36 words, in alphabetical order", () => {
  const words = [...readPage("docs/glossary.md").text.matchAll(/^- \*\*(.*):\*\*/gm)].map(
    ([, word = ""]) => word,
  );
  expect(words.length).toBeGreaterThan(0);
  expect(words.length).toBeLessThanOrEqual(36);
  expect(words).toEqual(words.toSorted());
});

test("the commands for pnpm name every package that jobforge may need, in its version", async () => {
  const { text } = readPage("docs/guides/install.md");
  const [, names = ""] = /^for name in (.*); do$/m.exec(text) ?? [];
  const root = new URL("../../", import.meta.url);
  const manifests = [
    "sql",
    ...(await readdir(new URL("packages/", root))).map((name) => `packages/${name}`),
  ].map((folder) => JSON.parse(readFileSync(new URL(`${folder}/package.json`, root), "utf8")));
  const published = manifests.filter((manifest) => manifest.private !== true && manifest.name !== "jobforge");
  expect(names.split(" ").map((name) => `@jobforge/${name}`)).toEqual(
    published.map(({ name }) => name).toSorted(),
  );
  for (const { version } of published) expect(text).toContain(`jobforge-$name-${version}.tgz`);
});

test("no page installs JobForge from npm or PyPI, which do not have it yet", () => {
  const readmes = ["cli", "embedded", "sdk-ts", "server", "testing", "worker-ts"].map((name) =>
    readPage(`packages/${name}/README.md`),
  );
  const pages = readPages().filter(({ name }) => !/^docs\/decisions\/|^CHANGELOG/.test(name));
  for (const { name, text } of [...pages, ...readmes, readPage("python/README.md")]) {
    expect(text, name).not.toMatch(/npm (?:install|i|add) (?:\S+ )*(?:jobforge|@jobforge\/[\w-]+)(?![\w/-])/);
    expect(text, name).not.toMatch(/pip install "?jobforge(?:\[[\w,]+\])?(?:"|`|$)/m);
  }
});
