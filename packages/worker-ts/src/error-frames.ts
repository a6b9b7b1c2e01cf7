/** Finds where an error comes from: the first frame of its stack in the application's own code. */
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunError } from "./claiming/protocol.ts";

/** The number of errors that are looked at: the error, its causes and members. */
const maxErrors = 20;

/**
 * The first frame that is neither Node's, nor a dependency's, nor JobForge's, such as `send (handlers/mail.ts:12:9)`.
 * Looks into the causes and the members of an AggregateError if the error itself has no such frame: that of
 * `Promise.any()` has no frames at all. Undefined if no frame is found.
 */
export function ownFrame(error: RunError): string | undefined {
  const found: unknown[] = [error];
  for (let index = 0; index < Math.min(found.length, maxErrors); index += 1) {
    const current = found[index];
    if (typeof current !== "object" || current === null) continue;
    const { stack, cause, errors } = current as Readonly<Record<"stack" | "cause" | "errors", unknown>>;
    const frame = typeof stack === "string" ? firstOwnFrame(stack) : undefined;
    if (frame !== undefined) return frame;
    found.push(cause, ...(Array.isArray(errors) ? errors.slice(0, maxErrors) : []));
  }
  return undefined;
}

function firstOwnFrame(stack: string): string | undefined {
  for (const line of stack.split("\n")) {
    const [, caller, location] =
      /^\s*at (?:(.+) \(|async )?((?:\/|file:|[A-Za-z]:[\\/]).*:\d+:\d+)\)?$/.exec(line) ?? [];
    if (location === undefined) continue;
    const path = pathOf(location);
    if (/[\\/]node_modules[\\/]/.test(path) || ownFolders.some((folder) => path.startsWith(folder))) continue;
    const shown = shortened(path);
    return caller === undefined ? shown : `${caller} (${shown})`;
  }
  return undefined;
}

/** The file, line and column, with the file as a path. */
function pathOf(location: string): string {
  if (!location.startsWith("file:")) return location;
  const [, url = "", place = ""] = /^(.*?)((?::\d+){2})$/.exec(location) ?? [];
  try {
    return `${fileURLToPath(url)}${place}`;
  } catch {
    return location;
  }
}

/** Relative to the working directory if the file is in it, as editors and terminals understand. */
function shortened(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith("..") || fromHere === "" ? path : fromHere;
}

/** JobForge's own folders, when it does not run out of node_modules but out of its repository. */
const ownFolders: readonly string[] = (() => {
  const [, packages] = /^(file:.*\/packages\/)worker-ts\/(?:src|dist)\//.exec(import.meta.url) ?? [];
  if (packages === undefined) return [];
  const root = fileURLToPath(packages);
  return ["worker-ts", "sdk-ts"].flatMap((name) =>
    ["src", "dist"].map((folder) => `${root}${name}${sep}${folder}${sep}`),
  );
})();
