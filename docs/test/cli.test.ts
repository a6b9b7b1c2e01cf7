/**
 * Runs the samples of docs/reference/cli.md and docs/guides/troubleshooting.md: the `console` blocks of a page, in
 * order, on one database. A line that starts with `$ jobforge` or `$ npx jobforge` is a command, and the lines after it
 * are its output. `…` stands for text that differs from run to run. `exit=4` in the opening line is the exit code of
 * the last command of the block. `ID` in a command is the id that a sample of the page printed last. Commands that run
 * until Ctrl-C are in blocks with `run=false`. For them the test only checks that their options exist.
 */
import { describe, expect } from "vitest";
import { createProgram } from "../../packages/cli/src/program.ts";
import { runCli } from "../../packages/cli/src/run.ts";
import { test } from "../../test/database.ts";
import { type Block, type Page, readPage, readPages, sectionOf } from "./markdown.ts";

const page = readPage("docs/reference/cli.md");
const blocks = consoleBlocks(page);
const pages: readonly Page[] = [page, readPage("docs/guides/troubleshooting.md")];
const guides: readonly Page[] = readPages().filter(({ name }) => /^README|^docs\/guides\//.test(name));
const id = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

function consoleBlocks({ blocks: all }: Page): Block[] {
  return all.filter(({ language }) => language === "console");
}

interface Sample {
  readonly args: readonly string[];
  readonly expected: string;
  readonly place: string;
}

function samplesOf({ name }: Page, block: Block): Sample[] {
  return block.text
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [command = "", ...lines] = text.split("\n");
      const [program, ...args] = wordsOf(command.replace(/^npx /, ""));
      expect(program, `${name}:${block.line}`).toBe("jobforge");
      return { args, expected: lines.join("\n").trim(), place: `${name}:${block.line}: ${command}` };
    });
}

/** Splits a command into words, as a shell does. Quotes group words; no other character is special. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
}

async function run(args: readonly string[], url: string): Promise<{ exitCode: number; output: string }> {
  let output = "";
  const stream = {
    write: (text: string) => {
      output += text;
    },
  };
  const process = { stdout: stream, stderr: stream, env: { DATABASE_URL: url }, cwd: () => "/dev/null" };
  return { exitCode: await runCli(args, process), output: output.trim() };
}

function patternOf(expected: string): RegExp {
  const literal = expected.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  // The width of a column depends on its contents, so any number of spaces matches.
  return new RegExp(`^${literal.replaceAll(/ {2,}/g, " +").replaceAll("…", "[\\s\\S]*?")}$`);
}

test.for(pages)("the samples of $name print the output that the page shows", async (shown, { db }) => {
  let last = "";
  for (const block of consoleBlocks(shown).filter(({ options }) => options["run"] !== "false")) {
    const samples = samplesOf(shown, block);
    for (const [index, { args, expected, place }] of samples.entries()) {
      const given = args.map((word) => (word === "ID" ? last : word));
      const { exitCode, output } = await run(given, db.url);
      last = id.exec(output)?.[0] ?? last;
      const wanted = index === samples.length - 1 ? Number(block.options["exit"] ?? 0) : 0;
      expect(exitCode, `${place}\n${output}`).toBe(wanted);
      if (expected !== "") expect(output, place).toMatch(patternOf(expected));
    }
  }
});

describe("every command", () => {
  const program = createProgram({
    process: { stdout: { write: () => undefined }, stderr: { write: () => undefined }, env: {} },
    exitCode: 0,
  });
  const commands = program.commands.flatMap((command) =>
    command.commands.length === 0
      ? [{ name: command.name(), command }]
      : command.commands.map((each) => ({ name: `${command.name()} ${each.name()}`, command: each })),
  );

  test.for(commands)("$name has a section that names its options, and a sample", ({ name, command }) => {
    const text = sectionOf(page, `jobforge ${name}`) ?? "";
    expect(text, `a section "jobforge ${name}"`).not.toBe("");
    const common = ["--json", "--database-url", "--api-schema", "--help"];
    for (const option of command.options
      // A hidden option only says what to write instead.
      .filter(({ hidden }) => !hidden)
      .map(({ long }) => long ?? "")
      .filter((long) => !common.includes(long)))
      expect(`${text}${sectionOf(page, "Filters") ?? ""}`, option).toContain(`\`${option}`);
    const sampled = blocks
      .flatMap(({ text: block }) => block.split("\n"))
      .some((line) => line.startsWith(`$ jobforge ${name}`));
    expect(sampled, `a sample of jobforge ${name}`).toBe(true);
  });

  test.for(commands)(
    "$name has help with examples that use existing options, and offers JSON",
    async ({ name }) => {
      const { exitCode, output } = await run([...name.split(" "), "--help"], "");
      expect(exitCode).toBe(0);
      const [help = "", examples = ""] = output.split("\nExamples:\n");
      expect(help).toContain("--json");
      const lines = examples
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line.startsWith("jobforge"));
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) {
        expect(line).toMatch(new RegExp(`^jobforge ${name}\\b`));
        for (const [option] of line.matchAll(/--[a-z-]+/g)) expect(help, line).toContain(option);
      }
    },
  );
});

test("samples that are not run name options that exist", async () => {
  const idle = [page, ...guides].flatMap((each) =>
    consoleBlocks(each)
      .filter(({ options }) => options["run"] === "false")
      .map((block) => samplesOf(each, block)),
  );
  for (const samples of idle) {
    for (const { args, place } of samples) {
      const command = args.slice(
        0,
        args.findIndex((word) => /^(--|\.)/.test(word)),
      );
      const { exitCode, output } = await run([...(command.length > 0 ? command : args), "--help"], "");
      expect(exitCode, place).toBe(0);
      for (const option of args.filter((word) => word.startsWith("--")))
        expect(output, place).toContain(option);
    }
  }
});

test.for(guides)(
  "the commands of $name work when they are typed: the project has the package",
  ({ blocks }) => {
    const typed = blocks
      .filter(({ language }) => ["sh", "console", "text"].includes(language))
      .flatMap(({ text }) => text.split("\n"))
      .filter((line) => /^(\$ )?jobforge /.test(line));
    expect(typed, "without npx the shell does not find the command").toEqual([]);
  },
);

test.for(guides)("the samples of $name import from the package that a project installs", ({ blocks }) => {
  const inside = blocks
    .filter(({ language }) => ["ts", "js"].includes(language))
    .flatMap(({ text }) => text.split("\n"))
    .filter((line) => /"@jobforge\/(sdk-ts|worker-ts|testing)"/.test(line));
  expect(inside, "with pnpm a project reaches only the packages that it has installed").toEqual([]);
});
