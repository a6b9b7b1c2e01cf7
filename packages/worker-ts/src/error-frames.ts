/** Finds where an error comes from: the first frame of its stack in the application's own code. */
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunError } from "./claiming/protocol.ts";

const maxCauses = 10;

/**
 * The first frame that is neither Node's, nor a dependency's, nor JobForge's, such as `send (handlers/mail.ts:12:9)`.
 * Looks into the causes if the error itself has no such frame. Undefined if there is none at all.
 */
export function ownFrame(error: RunError): string | undefined {
  let current: unknown = error;
  for (let causes = 0; causes < maxCauses && typeof current === "object" && current !== null; causes += 1) {
    const { stack, cause } = current as { readonly stack?: unknown; readonly cause?: unknown };
    const frame = typeof stack === "string" ? firstOwnFrame(stack) : undefined;
    if (frame !== undefined) return frame;
    current = cause;
  }
  return undefined;
}

function firstOwnFrame(stack: string): string | undefined {
  for (const line of stack.split("\n")) {
    const [, caller, location] =
      /^\s*at (?:(.+) \()?((?:\/|file:|[A-Za-z]:[\\/]).*:\d+:\d+)\)?$/.exec(line) ?? [];
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
