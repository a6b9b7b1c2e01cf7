/** Loads handlers in TypeScript: by Node itself if it can (22.18 and newer), else by tsx if the project has it. */
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandError } from "../failures.ts";

export function isTypeScript(file: string): boolean {
  return [".ts", ".mts", ".cts"].includes(extname(file));
}

/** Enables imports of TypeScript in this process. The error says what is missing. */
export async function enableTypeScript(path: string): Promise<void> {
  if (Reflect.get(process.features, "typescript")) return;
  const tsx = findTsx(path);
  if (tsx === undefined)
    throw new CommandError(
      "no_typescript",
      `Node ${process.versions.node} cannot load TypeScript.`,
      "Use Node 22.18 or newer, install tsx in your project, or pass the built JavaScript files.",
    );
  // This is the module that `node --import tsx` loads. After it, modules in TypeScript can be imported.
  await import(pathToFileURL(tsx).href);
}

/** Returns the path of tsx in the project that contains the handlers. */
function findTsx(path: string): string | undefined {
  try {
    return createRequire(join(dirname(path), "handlers.js")).resolve("tsx");
  } catch {
    return undefined;
  }
}
