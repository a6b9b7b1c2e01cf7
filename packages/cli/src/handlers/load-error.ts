/** Explains why a module cannot be loaded: the reason, the place in the file, and what to do if that is known. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { shownFrom } from "./files.ts";

interface Place {
  readonly file: string;
  readonly line: number;
  /** Starts at 1. */
  readonly column: number;
}

interface Reason {
  readonly message: string;
  readonly place: Place | undefined;
}

export async function explainLoadError(error: unknown, file: string, cwd: string): Promise<string> {
  const { message, place } = await reasonOf(error, file);
  const at = place === undefined ? "" : ` (${shownFrom(cwd, place.file)}:${place.line}:${place.column})`;
  const hint = hintFor(error, message);
  return `${message}${at}${hint === undefined ? "" : `. ${hint}`}`;
}

async function reasonOf(error: unknown, file: string): Promise<Reason> {
  if (!(error instanceof Error)) return { message: String(error), place: undefined };
  const stack = error.stack ?? "";
  const transformed = /^(.+):(\d+):(\d+): ERROR: (.+)$/m.exec(error.message);
  if (transformed !== null) {
    // esbuild, which tsx uses, counts columns from 0.
    const [, path = file, line, column, message = ""] = transformed;
    return { message, place: { file: path, line: Number(line), column: Number(column) + 1 } };
  }
  const { message } = error;
  const place = markedPlace(stack) ?? firstFrame(stack);
  if (place !== undefined || !(error instanceof SyntaxError)) return { message, place };
  return { message, place: await syntaxErrorIn(file, message) };
}

/**
 * Reads what Node writes before some errors: the file with the line, the source line, and a line with carets. There are
 * no carets at the end of a file.
 */
function markedPlace(text: string): Place | undefined {
  const found = /^((?:file:\/\/|\/|[A-Z]:\\).*):(\d+)\n(?:.*\n( *)\^)?/.exec(text);
  if (found === null) return undefined;
  const [, path = "", line, marks = ""] = found;
  return { file: pathOf(path), line: Number(line), column: marks.length + 1 };
}

/** Returns the innermost place of a stack trace in a file that is not part of a package. */
function firstFrame(stack: string): Place | undefined {
  for (const [, path = "", line, column] of stack.matchAll(
    /^ {4}at (?:.*\()?((?:file:\/\/|\/|[A-Z]:\\).+?):(\d+):(\d+)\)?$/gm,
  ))
    if (!isOwn(path)) return { file: pathOf(path), line: Number(line), column: Number(column) };
  return undefined;
}

/** Whether a file belongs to this command or to an installed package. */
function isOwn(path: string): boolean {
  return /[\\/]node_modules[\\/]/.test(path) || path === import.meta.url;
}

function pathOf(path: string): string {
  return path.startsWith("file:") ? fileURLToPath(path.replace(/\?.*$/, "")) : path;
}

/**
 * Compiles a module and the files that it imports, without running them. Node has no place for a syntax error in an ES
 * module that is caught; it prints the place only if the error ends the process.
 */
const compile = `
import { existsSync, readFileSync } from "node:fs";
import { SourceTextModule } from "node:vm";
const seen = new Set();
const visit = (url) => {
  if (seen.has(url.href) || !/\\.m?js$/.test(url.pathname) || !existsSync(url)) return;
  seen.add(url.href);
  const module = new SourceTextModule(readFileSync(url, "utf8"), { identifier: url.href });
  const imported = module.moduleRequests?.map(({ specifier }) => specifier) ?? module.dependencySpecifiers;
  for (const each of imported) if (/^(\\.{0,2}\\/|file:)/.test(each)) visit(new URL(each, url));
};
visit(new URL(process.argv[1]));
`;

async function syntaxErrorIn(file: string, message: string): Promise<Place | undefined> {
  const child = spawn(
    process.execPath,
    [
      "--no-warnings",
      "--experimental-vm-modules",
      "--input-type=module",
      "--eval",
      compile,
      pathToFileURL(file).href,
    ],
    { env: {}, stdio: ["ignore", "ignore", "pipe"] },
  );
  let printed = "";
  child.stderr.on("data", (chunk: Buffer) => {
    printed += chunk.toString("utf8");
  });
  await new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  return printed.includes(`SyntaxError: ${message}`) ? markedPlace(printed) : undefined;
}

const withTsx =
  "let tsx load TypeScript: npm install --save-dev tsx, and set NODE_OPTIONS=--import=tsx for the command";

function hintFor(error: unknown, message: string): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX")
    return `Node only removes types. Write it without this syntax, or ${withTsx}`;
  if (/outside a module|Unexpected token 'export'/.test(message))
    return 'It is an ES module. Name it .mjs, or set "type": "module" in package.json';
  if (code !== "ERR_MODULE_NOT_FOUND") return undefined;
  const [, missing = ""] = /^Cannot find module '(.+?)'/.exec(message) ?? [];
  if (existsSync(missing.replace(/\.([mc]?)js$/, ".$1ts")) || existsSync(`${missing}.ts`))
    return `The file is TypeScript. Import it with its real extension, or ${withTsx}`;
  const [, installable] = /^Cannot find package '(.+?)'/.exec(message) ?? [];
  if (installable === undefined) return undefined;
  // The registry does not have our packages yet, and their names may belong to others.
  return /^(@jobforge\/|jobforge$)/.test(installable)
    ? `Install the package ${installable} in this project`
    : `Install it: npm install ${installable}`;
}
