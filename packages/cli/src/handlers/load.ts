/** Finds job handlers in files: every export of a module that was created by `definition.handle(…)`. */
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { JobHandler } from "@jobforge/sdk-ts";
import { CommandError, NotFoundError, UsageError } from "../failures.ts";
import { definitionsIn, handlersIn, type Loaded, whyIgnored } from "./exports.ts";
import { shownFrom } from "./files.ts";
import { explainLoadError } from "./load-error.ts";
import { enableTypeScript, isTypeScript } from "./typescript.ts";

const module = /\.[mc]?[jt]s$/;
/** Files that look like modules, but are not loaded. */
const unsupported = /\.[jt]sx$/;
const extensions = ".js, .mjs, .cjs, .ts, .mts or .cts";
/** Declaration files and tests may be next to handlers, but contain none. */
const other = /(\.d\.[mc]?ts|\.(test|spec)\.[mc]?[jt]sx?)$/;

export interface LoadOptions {
  /** Receives what the user should know about a file: it cannot be loaded, or something in it is ignored. */
  readonly report: (finding: Finding) => void;
  /** Load the other files if a file cannot be loaded. Otherwise that is an error. */
  readonly skipBroken?: boolean | undefined;
}

export interface Finding {
  readonly event: "broken" | "ignored";
  readonly file: string;
  readonly message: string;
}

/** Returns the handlers of a file, or of all modules in a folder and its subfolders. */
export async function loadHandlers(path: string, cwd: string, options: LoadOptions): Promise<JobHandler[]> {
  const root = resolve(cwd, path);
  const shown = (file: string): string => shownFrom(cwd, file);
  const files = await modulesIn(root, (file) =>
    options.report({
      event: "ignored",
      file: shown(file),
      message: `${shown(file)} is not loaded: handlers are in ${extensions} files.`,
    }),
  );
  const noTypeScript = files.some(isTypeScript) ? await enableTypeScript(root) : undefined;
  const { loaded, broken } = await loadAll(files, cwd, noTypeScript);
  if (broken.length > 0 && !options.skipBroken) throw notLoaded(broken);
  for (const finding of broken) options.report(finding);
  const handlers = oneHandlerPerType(loaded);
  for (const { file, message } of await whyIgnored(loaded, shown))
    options.report({ event: "ignored", file, message });
  if (handlers.length === 0) throw noHandlers(root, broken.length > 0);
  return handlers;
}

async function modulesIn(path: string, ignored: (file: string) => void): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new NotFoundError(`There is no file or folder ${path}.`);
  if (!found.isDirectory()) {
    if (!module.test(path))
      throw new UsageError(`${path} is not a module. Handlers are in ${extensions} files.`);
    return [path];
  }
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !other.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/](node_modules|\.[^\\/]+)[\\/]/.test(file.slice(path.length)))
    .sort();
  for (const file of files) if (unsupported.test(file)) ignored(file);
  return files.filter((file) => module.test(file));
}

/** `noTypeScript` says why modules in TypeScript cannot be loaded, if they cannot. */
async function loadAll(
  files: readonly string[],
  cwd: string,
  noTypeScript: string | undefined,
): Promise<{ readonly loaded: readonly Loaded[]; readonly broken: readonly Finding[] }> {
  const loaded: Loaded[] = [];
  const broken: Finding[] = [];
  const addBroken = (file: string, reason: string): void => {
    const shown = shownFrom(cwd, file);
    broken.push({ event: "broken", file: shown, message: `${shown} cannot be loaded: ${reason}` });
  };
  for (const file of files) {
    if (noTypeScript !== undefined && isTypeScript(file)) {
      addBroken(file, noTypeScript);
      continue;
    }
    try {
      const exported = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
      loaded.push({ file, exported, handlers: handlersIn(exported), definitions: definitionsIn(exported) });
    } catch (error) {
      addBroken(file, await explainLoadError(error, file, cwd));
    }
  }
  return { loaded, broken };
}

function notLoaded(broken: readonly Finding[]): CommandError {
  return new CommandError(
    "handlers_do_not_load",
    broken.map(({ message }) => message).join("\n"),
    "No handler was started. To run the handlers of the other files, use jobforge worker with --skip-broken.",
  );
}

function noHandlers(root: string, isBroken: boolean): CommandError {
  if (isBroken)
    return new CommandError(
      "handlers_do_not_load",
      `No handler in ${root} could be loaded.`,
      "Fix the files.",
    );
  return new CommandError(
    "no_handlers",
    `There are no handlers in ${root}.`,
    "Export them: export const send = sendMail.handle(async (input, job) => { … });",
  );
}

function oneHandlerPerType(loaded: readonly Loaded[]): JobHandler[] {
  const found = new Map<string, { readonly handler: JobHandler; readonly file: string }>();
  for (const { file, handlers } of loaded) {
    for (const handler of handlers) {
      const { type } = handler.definition;
      const before = found.get(type);
      // A module that re-exports a handler of another module does not add a second handler.
      if (before !== undefined && before.handler !== handler)
        throw new CommandError(
          "two_handlers",
          `There are two handlers for the type "${type}": in ${before.file} and in ${file}.`,
          "A worker needs exactly one handler per type. Remove one of them.",
        );
      found.set(type, { handler, file });
    }
  }
  return [...found.values()].map(({ handler }) => handler);
}

/** Returns the handlers of the given types. A type without a handler is an error. */
export function ofTypes(handlers: readonly JobHandler[], types: readonly string[] | undefined): JobHandler[] {
  if (types === undefined) return [...handlers];
  const missing = types.filter((type) => !handlers.some((handler) => handler.definition.type === type));
  if (missing.length > 0) {
    const known = handlers.map((handler) => handler.definition.type).join(", ");
    throw new UsageError(`There is no handler for ${missing.join(", ")}. Types with a handler: ${known}.`);
  }
  return handlers.filter((handler) => types.includes(handler.definition.type));
}
