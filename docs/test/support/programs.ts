/**
 * TypeScript samples as programs. The `ts` blocks of a page are one program, in order; `program=NAME` in a block's opening line makes it
 * part of another one, `run=false` only checks its types. What a block prints must be what its comments with an arrow say:
 *   console.log(job.status); // → queued
 */
import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { type Block, type Page, root } from "../markdown.ts";

export interface Program {
  /** Such as docs/guides/first-job.md, with the program's name when it has one. */
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  readonly runs: boolean;
}

/** Printed before each block, so that what follows is known to be its output. */
const marker = "\u0001block ";

/** The programs of a page. Their lines have the numbers of the page's lines, so that an error leads to the sample. */
export function programsOf(page: Page): Program[] {
  const named = new Map<string, Block[]>();
  for (const block of page.blocks.filter(({ language }) => language === "ts")) {
    const name = block.options["program"] ?? "";
    named.set(name, [...(named.get(name) ?? []), block]);
  }
  return [...named].map(([name, blocks]) => ({
    name: name === "" ? page.name : `${page.name} (${name})`,
    file: `${`${page.name} ${name}`.trim().replaceAll(/\W+/g, "-")}.ts`,
    text: textOf(blocks),
    blocks,
    runs: blocks.every(({ options }) => options["run"] !== "false"),
  }));
}

function textOf(blocks: readonly Block[]): string {
  const lines: string[] = [];
  const imported = new Set<string>();
  for (const block of blocks) {
    while (lines.length < block.line) lines.push("");
    const [first = "", ...rest] = withoutRepeatedImports(block.text, imported).split("\n");
    lines.push(`console.log(${JSON.stringify(`${marker}${block.line}`)}); ${first}`, ...rest);
  }
  // A program without an import is a module all the same.
  return `${lines.join("\n")}\nexport {};\n`;
}

/** Each block shows what it imports; in one module a name is imported once. */
function withoutRepeatedImports(text: string, imported: Set<string>): string {
  return text.replaceAll(
    /^import (type )?\{([^}]*)\} from ("[^"]+");$/gm,
    (_, type = "", names: string, from: string) => {
      const fresh = names
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && !imported.has(`${name} ${from}`));
      for (const name of fresh) imported.add(`${name} ${from}`);
      const lines = "\n".repeat(names.split("\n").length - 1);
      return `${fresh.length === 0 ? "" : `import ${type}{ ${fresh.join(", ")} } from ${from};`}${lines}`;
    },
  );
}

/** Writes programs where they find packages of the workspace, as sources. */
export async function writePrograms(directory: string, programs: readonly Program[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  await symlink(join(root, "node_modules"), join(directory, "node_modules"), "junction");
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  const paths = {
    "@jobforge/sql": [join(root, "sql/src/index.ts")],
    "@jobforge/sdk-ts/adapters": [join(root, "packages/sdk-ts/src/adapters.ts")],
    "@jobforge/*": [join(root, "packages/*/src/index.ts")],
  };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions: { paths, noUnusedLocals: false } };
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify({ ...config, include: ["*.ts"] }));
  for (const { file, text } of programs) await writeFile(join(directory, file), text);
}

/** What the type checker says about programs, each line with its page and line. */
export function typeErrors(directory: string, programs: readonly Program[]): string[] {
  const path = join(directory, "tsconfig.json");
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, directory);
  const checked = ts.createProgram(fileNames, options);
  return programs.flatMap(({ file, name }) => {
    const source = checked.getSourceFile(join(directory, file));
    const problems = [...checked.getSyntacticDiagnostics(source), ...checked.getSemanticDiagnostics(source)];
    return problems.map(({ messageText, start = 0 }) => {
      const line = source === undefined ? 0 : source.getLineAndCharacterOfPosition(start).line + 1;
      return `${name}:${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
  });
}

/** Runs a program and answers what each of its blocks printed, by the block's line. */
export async function runProgram(
  directory: string,
  program: Program,
  env: Readonly<Record<string, string>>,
): Promise<Map<number, string[]>> {
  const tsx = import.meta.resolve("tsx");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", tsx, join(directory, program.file)],
    {
      cwd: directory,
      env: { ...process.env, NO_COLOR: "1", TSX_TSCONFIG_PATH: join(directory, "tsconfig.json"), ...env },
      timeout: 50_000,
    },
  );
  const printed = new Map<number, string[]>();
  let current: string[] = [];
  for (const line of stdout.split("\n").slice(0, -1)) {
    if (line.startsWith(marker)) {
      current = [];
      printed.set(Number(line.slice(marker.length)), current);
    } else current.push(line);
  }
  return printed;
}

/** What a block's comments say that it prints. */
export function expectedOutput(block: Block): string[] {
  return [...block.text.matchAll(/\/\/ → (.*)$/gm)].map((match) => match[1] ?? "");
}
