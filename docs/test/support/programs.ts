/**
 * Turns TypeScript samples into programs. The `ts` blocks of a page are one program, in order. `program=NAME` in the
 * opening line makes a block part of another program. With `run=false` only its types are checked. A block must print
 * what its comments with an arrow say:
 *   console.log(job.status); // → queued
 */
import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { type Block, type Page, root } from "../markdown.ts";

export interface Program {
  /** The page, such as docs/guides/first-job.md, and the name of the program if it has one. */
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  readonly runs: boolean;
}

/** Printed before each block, to assign the output that follows to the block. */
const marker = "\u0001block ";

/** Returns the programs of a page. Their line numbers are those of the page, so that an error points to the sample. */
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
  // Makes a program without imports a module as well.
  return `${lines.join("\n")}\nexport {};\n`;
}

/** Removes imports that an earlier block has: each block shows its imports, but a module imports a name only once. */
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

/** Writes programs to a directory where they resolve the packages of the workspace to their sources. */
export async function writePrograms(directory: string, programs: readonly Program[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  await symlink(join(root, "node_modules"), join(directory, "node_modules"), "junction");
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  const paths = {
    "@jobforge/sql": [join(root, "sql/src/index.ts")],
    "@jobforge/sdk-ts/adapters": [join(root, "packages/sdk-ts/src/adapters.ts")],
    "@jobforge/sdk-ts/internal": [join(root, "packages/sdk-ts/src/internal.ts")],
    "@jobforge/connectors/verify": [join(root, "packages/connectors/src/verify.ts")],
    "@jobforge/*": [join(root, "packages/*/src/index.ts")],
    jobforge: [join(root, "packages/cli/src/index.ts")],
    "jobforge/testing": [join(root, "packages/cli/src/testing.ts")],
  };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions: { paths, noUnusedLocals: false } };
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify({ ...config, include: ["*.ts"] }));
  for (const { file, text } of programs) await writeFile(join(directory, file), text);
}

/** Returns the type errors of programs, each with its page and line. */
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

/** Runs a program and returns the output of each of its blocks, by the line of the block. */
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

/** Returns the output that the comments of a block announce. */
export function expectedOutput(block: Block): string[] {
  return [...block.text.matchAll(/\/\/ → (.*)$/gm)].map((match) => match[1] ?? "");
}
