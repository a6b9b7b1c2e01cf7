/** Watches a file or folder, and the files that its modules import from elsewhere. */
import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

export interface WatchedFiles {
  /** Watches one more file. A file inside the folder is watched already. */
  readonly add: (file: string) => void;
  close(): void;
}

export function watchFiles(path: string, cwd: string, onChange: (file: string) => void): WatchedFiles {
  const root = resolve(cwd, path);
  const isFolder = statSync(root).isDirectory();
  const watchers: FSWatcher[] = [];
  /** The watched files of each folder. A folder is watched, not the file: editors replace files by new ones. */
  const folders = new Map<string, Set<string>>();
  const open = (folder: string, recursive: boolean, listener: (name: string | null) => void): void => {
    const watcher = watch(folder, { recursive }, (_, name) => listener(name));
    // A folder that is removed is no longer watched.
    watcher.on("error", () => undefined);
    watchers.push(watcher);
  };
  const add = (file: string): void => {
    if (isFolder && file.startsWith(root + sep)) return;
    const folder = dirname(file);
    const names = folders.get(folder) ?? new Set();
    names.add(basename(file));
    if (folders.has(folder)) return;
    folders.set(folder, names);
    open(folder, false, (name) => {
      if (name !== null && names.has(name)) onChange(shownFrom(cwd, resolve(folder, name)));
    });
  };
  if (isFolder) open(root, true, (name) => onChange(name ?? path));
  else add(root);
  return {
    add,
    close: () => {
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** Returns a path as people write it: from the current directory, if the file is in it. */
export function shownFrom(cwd: string, file: string): string {
  const path = relative(cwd, file);
  return path === "" || path.startsWith("..") ? file : path;
}

export function isNoise(file: string): boolean {
  return /(^|[\\/])(node_modules|\.[^\\/]*)([\\/]|$)|~$/.test(file);
}

/** Returns the files in a message with which Node reports the modules that it loads. Packages are left out. */
export function dependenciesIn(message: unknown): string[] {
  if (typeof message !== "object" || message === null) return [];
  const { "watch:import": imported, "watch:require": required } = message as Record<string, unknown>;
  return [imported, required]
    .flat()
    .filter((each) => typeof each === "string")
    .map((each) => (each.startsWith("file:") ? fileURLToPath(each.replace(/[?#].*$/, "")) : each))
    .filter((each) => /^([A-Z]:)?[\\/]/i.test(each) && !/[\\/]node_modules[\\/]/.test(each));
}
