/** Finds job handlers in files: every export of a module that was created by `definition.handle(…)`. */
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { JobHandler } from "@jobforge/sdk-ts";
import { CommandError, NotFoundError, UsageError } from "../failures.ts";
import { enableTypeScript, isTypeScript } from "./typescript.ts";

const module = /\.(m?js|m?ts)$/;
/** Declaration files and tests may be next to handlers, but contain none. */
const other = /(\.d\.m?ts|\.(test|spec)\.m?[jt]s)$/;

/** Returns the handlers of a file, or of all modules in a folder and its subfolders. */
export async function loadHandlers(path: string, cwd: string): Promise<JobHandler[]> {
  const root = resolve(cwd, path);
  const files = await modulesIn(root);
  if (files.some(isTypeScript)) await enableTypeScript(root);
  const found = new Map<string, { readonly handler: JobHandler; readonly file: string }>();
  for (const file of files) {
    for (const handler of handlersIn(await load(file))) {
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
  if (found.size === 0)
    throw new CommandError(
      "no_handlers",
      `There are no handlers in ${root}.`,
      "Export them: export const send = sendMail.handle(async (input, job) => { … });",
    );
  return [...found.values()].map(({ handler }) => handler);
}

async function modulesIn(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new NotFoundError(`There is no file or folder ${path}.`);
  if (!found.isDirectory()) {
    if (!module.test(path))
      throw new UsageError(`${path} is not a module. Handlers are in .js, .mjs, .ts or .mts files.`);
    return [path];
  }
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && module.test(entry.name) && !other.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/](node_modules|\.[^\\/]+)[\\/]/.test(file.slice(path.length)))
    .sort();
}

async function load(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError("handlers_do_not_load", `${file} cannot be loaded: ${reason}`, "");
  }
}

function handlersIn(exported: Readonly<Record<string, unknown>>): JobHandler[] {
  return Object.values(exported).flat().filter(isHandler);
}

/** Checks the shape instead of the class, because an application may have its own copy of the SDK. */
function isHandler(value: unknown): value is JobHandler {
  if (typeof value !== "object" || value === null) return false;
  const { definition, run, batchSize } = value as Partial<JobHandler>;
  return typeof definition?.type === "string" && typeof run === "function" && typeof batchSize === "number";
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
