/** Reads the documentation: its files, fenced blocks, sections and links. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../../", import.meta.url));

/** A fenced block: its language (`sql`), the options of its opening line (`as=app error=JF003`), and its text. */
export interface Block {
  readonly language: string;
  readonly options: Readonly<Record<string, string>>;
  readonly text: string;
  readonly line: number;
}

export interface Page {
  /** The path relative to the root, such as docs/concepts/state-machine.md. */
  readonly name: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

/** Returns every page of the documentation, sorted by name. */
export function readPages(): Page[] {
  const names = [
    ...readdirSync(root).filter((name) => name.endsWith(".md")),
    ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => join("docs", name).replaceAll("\\", "/")),
  ];
  return names.sort().map(readPage);
}

export function readPage(name: string): Page {
  const text = readFileSync(join(root, name), "utf8");
  return { name, text, blocks: readBlocks(text) };
}

function readBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split("\n");
  for (let start = 0; start < lines.length; start++) {
    const opening = /^```(\w+)(.*)$/.exec(lines[start] ?? "");
    if (!opening) continue;
    const length = lines.slice(start + 1).indexOf("```");
    if (length < 0) throw new Error(`The block that starts at line ${start + 1} does not end`);
    blocks.push({
      language: opening[1] ?? "",
      options: readOptions(opening[2] ?? ""),
      text: lines.slice(start + 1, start + 1 + length).join("\n"),
      line: start + 1,
    });
    start += length + 1;
  }
  return blocks;
}

/** Parses options such as `as=shop error=JF003 after="2 minutes"`. */
function readOptions(text: string): Record<string, string> {
  const pairs = text.matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g);
  return Object.fromEntries([...pairs].map((pair) => [pair[1] ?? "", pair[2] ?? pair[3] ?? ""]));
}

/** Returns the text from a heading to the next one of the same or a higher level. Undefined if there is no heading. */
export function sectionOf(page: Page, heading: string): string | undefined {
  const lines = withoutBlocks(page.text).split("\n");
  const start = lines.findIndex((line) => line.replace(/^#+ +/, "") === heading && line.startsWith("#"));
  if (start < 0) return undefined;
  const level = /^#+/.exec(lines[start] ?? "")?.[0].length ?? 1;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^#+ /.test(line) && (/^#+/.exec(line)?.[0].length ?? 0) <= level);
  const last = end < 0 ? lines.length : start + 1 + end;
  return page.text.split("\n").slice(start, last).join("\n");
}

/** Empties the lines of fenced blocks, because a comment in a sample is not a heading. Line numbers stay the same. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^```\w+[^\n]*\n[\s\S]*?^```$/gm, (block) => block.replaceAll(/[^\n]/g, ""));
}

/** Returns the first cell of each row of the first table of a section, without the header and without backticks. */
export function firstCells(section: string): string[] {
  const table = /^\|[\s\S]*?(?=\n(?!\|)|$(?![\s\S]))/m.exec(section)?.[0] ?? "";
  return table
    .split("\n")
    .slice(2)
    .map((line) => (line.split("|")[1] ?? "").replaceAll("`", "").trim());
}

/** Returns the relative links of a page whose file or heading does not exist. */
export function brokenLinks(page: Page): string[] {
  const links = [...withoutBlocks(page.text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "");
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? join(root, page.name) : resolve(root, dirname(page.name), path);
    if (!existsSync(target) || relative(root, target).startsWith("..")) return true;
    return anchor !== undefined && !anchorsOf(readFileSync(target, "utf8")).includes(anchor);
  });
}

function anchorsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ +(.*)$/gm)].map((match) => anchorOf(match[1] ?? ""));
}

/** Returns the anchor that GitHub gives to a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}
