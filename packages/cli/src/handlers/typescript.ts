/** Loads handlers in TypeScript: by Node itself if it can (22.18 and newer), else by tsx if the project has it. */
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";

export function isTypeScript(file: string): boolean {
  return [".ts", ".mts", ".cts"].includes(extname(file));
}

/**
 * Enables imports of TypeScript in this process. Returns undefined, or a message that says what is missing: then
 * modules in TypeScript cannot be loaded.
 */
export async function enableTypeScript(path: string): Promise<string | undefined> {
  if (Reflect.get(process.features, "typescript")) return undefined;
  const tsx = findTsx(path);
  if (tsx === undefined)
    return [
      `Node ${process.versions.node} cannot load TypeScript.`,
      "Use Node 22.18 or newer, install tsx in your project, or pass the built JavaScript files.",
    ].join(" ");
  // This is the module that `node --import tsx` loads. After it, modules in TypeScript can be imported.
  await import(pathToFileURL(tsx).href);
  return undefined;
}

/** Returns the path of tsx in the project that contains the handlers. */
function findTsx(path: string): string | undefined {
  try {
    return createRequire(join(dirname(path), "handlers.js")).resolve("tsx");
  } catch {
    return undefined;
  }
}
