/**
 * The built dashboard: a folder of files that `@jobforge/dashboard` writes into `dist/dashboard` of this package.
 *
 * The contract of the folder:
 * - `index.html` is the shell of every page. Its head has `<base href="./">`, exactly so and before any address. The
 *   server writes another href into it, and adds the labels of the dashboard, see `shell.ts`. All addresses in it are
 *   relative: `assets/app-1a2b3c.js`. It has no inline script and no inline style.
 * - `assets/` has every other file. The name of a file contains a hash of its contents, because browsers keep it for a
 *   year. A file may have compressed copies next to it: `app-1a2b3c.js.br` and `app-1a2b3c.js.gz`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";

/** What the server replaces in the shell. */
export const basePlaceholder = '<base href="./">';

export interface Asset {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Compressed copies by the name of their encoding, best first. */
  readonly encodings: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface DashboardFolder {
  readonly shell: string;
  /** By path below `assets/`. A path that is not a key is not served, so no path can leave the folder. */
  readonly assets: ReadonlyMap<string, Asset>;
}

/** Where the folder is: next to the built server. For sources that are run as they are, in `dist` of the package. */
const places = ["./dashboard/", "../../dist/dashboard/"].map((each) => new URL(each, import.meta.url));

/** Reads the folder into memory. Undefined if the dashboard was not built. */
export function readDashboard(folder: URL | undefined = findFolder()): DashboardFolder | undefined {
  if (folder === undefined) return undefined;
  const shell = readFileSync(new URL("index.html", folder), "utf8");
  if (shell.split(basePlaceholder).length !== 2)
    throw new TypeError(`The dashboard's index.html must contain ${basePlaceholder} once`);
  return { shell, assets: readAssets(new URL("assets/", folder)) };
}

function findFolder(): URL | undefined {
  return places.find((each) => existsSync(new URL("index.html", each)));
}

function readAssets(folder: URL): Map<string, Asset> {
  const names = existsSync(folder) ? namesIn(folder) : [];
  const isCopy = (name: string): boolean =>
    Object.values(copies).some((end) => name.endsWith(end) && names.includes(name.slice(0, -end.length)));
  return new Map(names.filter((name) => !isCopy(name)).map((name) => [name, readAsset(folder, name, names)]));
}

/** The paths of all files below a folder, with slashes on every system. */
function namesIn(folder: URL, above = ""): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? namesIn(new URL(`${encodeURIComponent(entry.name)}/`, folder), `${above}${entry.name}/`)
      : [`${above}${entry.name}`],
  );
}

function readAsset(folder: URL, name: string, names: readonly string[]): Asset {
  const read = (each: string): Uint8Array<ArrayBuffer> =>
    new Uint8Array(readFileSync(new URL(each.split("/").map(encodeURIComponent).join("/"), folder)));
  const found = Object.entries(copies).filter(([, end]) => names.includes(name + end));
  return {
    type: types[extname(name)] ?? "application/octet-stream",
    bytes: read(name),
    encodings: new Map(found.map(([encoding, end]) => [encoding, read(name + end)])),
  };
}

/** The ends of names of compressed copies, best first. */
const copies: Readonly<Record<string, string>> = { br: ".br", gzip: ".gz" };

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".json": "application/json",
  ".map": "application/json",
  ".txt": "text/plain; charset=utf-8",
};
