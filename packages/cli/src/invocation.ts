/**
 * How the user can type the command here. `npx jobforge` puts the command on the PATH only for itself, so the next
 * command that a message suggests needs `npx` as well.
 */
import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import type { CliProcess } from "./process.ts";

type Caller = Pick<CliProcess, "env" | "cwd" | "argv">;

/** Returns `jobforge`, or what to type instead of it, such as `npx jobforge`. */
export function invocation(cli: Caller): string {
  const program = cli.argv?.[1];
  if (program === undefined || isOnPath(cli.env["PATH"] ?? "")) return "jobforge";
  const cwd = cli.cwd?.() ?? process.cwd();
  if (isInstalledFor(cwd) || isFromCache(program)) return throughPackageManager(cli.env);
  return `node ${quoted(program)}`;
}

const suggested = /(?<![\w./@-])jobforge (?=[a-z]+\b|--)/g;

/** Returns a text with the commands in it as they can be typed here. */
export function asTyped(text: string, cli: Caller): string {
  const typed = invocation(cli);
  return typed === "jobforge" ? text : text.replaceAll(suggested, () => `${typed} `);
}

/** Returns a help text with its usage and its examples as they can be typed here. The other lines are wrapped. */
export function helpAsTyped(text: string, cli: Caller): string {
  const typed = invocation(cli);
  return text.replaceAll(/^(Usage: |Run | {2})jobforge(?= )/gm, (_, before: string) => `${before}${typed}`);
}

/** Package managers put the folders `node_modules/.bin` on the PATH of the programs that they start. */
function isOnPath(path: string): boolean {
  return path
    .split(delimiter)
    .filter((folder) => folder !== "" && !/node_modules[\\/]\.bin[\\/]?$/.test(folder))
    .some((folder) => names.some((name) => isExecutable(join(folder, name))));
}

const names = process.platform === "win32" ? ["jobforge.cmd", "jobforge.exe"] : ["jobforge"];

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether the project that contains the directory has installed the command. */
function isInstalledFor(directory: string): boolean {
  for (let folder = directory; ; folder = dirname(folder)) {
    if (names.some((name) => existsSync(join(folder, "node_modules", ".bin", name)))) return true;
    if (dirname(folder) === folder) return false;
  }
}

/** Whether npx has downloaded the command, because the project has not installed it. */
function isFromCache(program: string): boolean {
  return /[\\/]_npx[\\/]/.test(program);
}

function throughPackageManager(env: CliProcess["env"]): string {
  const agent = env["npm_config_user_agent"] ?? "";
  if (agent.startsWith("pnpm/")) return "pnpm exec jobforge";
  if (agent.startsWith("yarn/")) return "yarn jobforge";
  if (agent.startsWith("bun/")) return "bunx jobforge";
  return "npx jobforge";
}

/** Returns the path of a program as a shell reads it. */
function quoted(program: string): string {
  const path = basename(program) === "jobforge" ? realpathSync(program) : program;
  return /^[\w./:\\@+-]+$/.test(path) ? path : `"${path}"`;
}
