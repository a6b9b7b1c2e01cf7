/**
 * Loads handlers in TypeScript: by Node itself if it can (22.18 and newer, from 22.6 on with a flag), else by tsx if
 * the project has it.
 */
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
  const flag = typeScriptFlag(process.versions.node);
  const options = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" ");
  // Versions before 22.10 do not report the feature.
  const isFlagged = flag !== undefined && options.includes(flag);
  if (Reflect.get(process.features, "typescript") || isFlagged) return undefined;
  const tsx = findTsx(path);
  if (tsx === undefined)
    return [
      `Node ${process.versions.node} cannot load TypeScript${flag === undefined ? "" : " without a flag"}.`,
      `${flag === undefined ? "Use" : `Set NODE_OPTIONS=${flag}, use`} Node 22.18 or newer,`,
      "install tsx in your project, or pass the built JavaScript files.",
    ].join(" ");
  // This is the module that `node --import tsx` loads. After it, modules in TypeScript can be imported.
  await import(pathToFileURL(tsx).href);
  return undefined;
}

/** The flag by which a version of Node loads TypeScript; undefined if it needs none, or cannot load it at all. */
export function typeScriptFlag(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const needsFlag = (major === 22 && minor >= 6 && minor < 18) || (major === 23 && minor < 6);
  return needsFlag ? "--experimental-strip-types" : undefined;
}

/** Returns the path of tsx in the project that contains the handlers. */
function findTsx(path: string): string | undefined {
  try {
    return createRequire(join(dirname(path), "handlers.js")).resolve("tsx");
  } catch {
    return undefined;
  }
}
