/** Reads the exports of modules: which are handlers, and which only look like handlers. */
import { readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import type { JobHandler } from "@jobforge/sdk-ts";

/** The part of a definition that matters here. */
interface Defined {
  readonly type: string;
}

export interface Loaded {
  readonly file: string;
  readonly exported: Readonly<Record<string, unknown>>;
  readonly handlers: readonly JobHandler[];
  readonly definitions: readonly Defined[];
}

export function handlersIn(exported: Readonly<Record<string, unknown>>): JobHandler[] {
  return [...new Set(valuesOf(exported).filter(isHandler))];
}

export function definitionsIn(exported: Readonly<Record<string, unknown>>): Defined[] {
  return [...new Set(valuesOf(exported).filter(isDefinition))];
}

/** The exports, the elements of arrays, and the properties of `module.exports`, which is a CommonJS default export. */
function valuesOf(exported: Readonly<Record<string, unknown>>): unknown[] {
  const { default: main } = exported;
  const more = isPlainObject(main) && !isHandler(main) && !isDefinition(main) ? Object.values(main) : [];
  return [...Object.values(exported), ...more].flat();
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Checks the shape instead of the class, because an application may have its own copy of the SDK. */
function isHandler(value: unknown): value is JobHandler {
  if (typeof value !== "object" || value === null) return false;
  const { definition, run, batchSize } = value as Partial<JobHandler>;
  return typeof definition?.type === "string" && typeof run === "function" && typeof batchSize === "number";
}

function isDefinition(value: unknown): value is Defined {
  if (typeof value !== "object" || value === null) return false;
  const { type, handle } = value as { readonly type?: unknown; readonly handle?: unknown };
  return typeof type === "string" && typeof handle === "function";
}

export interface Ignored {
  readonly file: string;
  readonly message: string;
}

/** Returns a message for each file whose author may believe that it has a handler which this worker runs. */
export async function whyIgnored(
  loaded: readonly Loaded[],
  shown: (file: string) => string,
): Promise<Ignored[]> {
  const handled = new Set(
    loaded.flatMap(({ handlers }) => handlers.map(({ definition }) => definition.type)),
  );
  const sources = new Map<string, string>();
  for (const { file } of loaded) sources.set(file, await readFile(file, "utf8").catch(() => ""));
  const found: Ignored[] = [];
  const said = new Set(handled);
  for (const each of loaded) {
    const file = shown(each.file);
    for (const { type } of each.definitions.filter(({ type }) => !said.has(type))) {
      said.add(type);
      found.push({ file, message: `${file} defines ${type}, but exports no handler for it. ${example}` });
    }
    const reason = each.handlers.length + each.definitions.length > 0 ? undefined : without(each, sources);
    if (reason !== undefined) found.push({ file, message: `${file} has no handler: ${reason}. ${example}` });
  }
  return found;
}

const example =
  "A handler is the result of handle: export const send = sendMail.handle(async (input) => { … })";

/** Returns why a module without handlers has none, or undefined if it does not look as if it should have one. */
function without({ file, exported }: Loaded, sources: ReadonlyMap<string, string>): string | undefined {
  const names = Object.keys(exported);
  if (names.length === 0)
    return /\b(defineJob|handle|handleBatch)\(/.test(sources.get(file) ?? "")
      ? "it exports nothing"
      : undefined;
  const functions = names.filter((name) => typeof exported[name] === "function");
  if (functions.length === 0 || isHelper(file, sources)) return undefined;
  const [name = ""] = functions;
  if (functions.length > 1) return `it exports plain functions (${functions.join(", ")})`;
  return name === "default"
    ? "its default export is a plain function"
    : `${name} is an exported plain function`;
}

/** Whether another module of the folder seems to import the file. Its functions are for that module. */
function isHelper(file: string, sources: ReadonlyMap<string, string>): boolean {
  const name = basename(file, extname(file)).replaceAll(/[^\w-]/g, "\\$&");
  const mention = new RegExp(`["'][^"'\\n]*/${name}(\\.[mc]?[jt]s)?["']`);
  return [...sources].some(([other, source]) => other !== file && mention.test(source));
}
