/** Keeps artifacts as files in a directory. Several workers share them only if they share the directory. */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { type ArtifactStore, parseArtifactKey } from "@jobforge/sdk-ts";
import { Measured } from "./measured.ts";
import { keyOf, notThere, refOf } from "./store.ts";

/** A file that is being written. It has a valid name, so that what a killed process left can be listed and deleted. */
const unfinished = /^[0-9a-f]{32}\.part$/;
/** A file that is being written changes more often. */
const abandonedAfterMs = 3_600_000;

/** Creates a store in a directory, which is created when it is needed. Only the user of this process can read it. */
export function fileStore(directory: string): ArtifactStore {
  const pathOf = (ref: string): string => join(directory, keyOf(ref));
  return {
    put: async (key, content, { signal }) => {
      const ref = refOf(key);
      const path = pathOf(ref);
      // A reader never sees half of a file, and a crash leaves none under the name.
      const temporary = join(dirname(path), `${randomBytes(16).toString("hex")}.part`);
      try {
        const written = await write(temporary, content, signal);
        await rename(temporary, path);
        return { ref, ...written };
      } catch (error) {
        await remove(temporary);
        throw error;
      }
    },
    get: async (ref, signal) => {
      const path = pathOf(ref);
      const found = await stat(path).catch(() => undefined);
      if (!found?.isFile()) throw notThere();
      return createReadStream(path, signal === undefined ? {} : { signal });
    },
    delete: (ref) => remove(pathOf(ref)),
    list: async function* (prefix) {
      // Only the folder of the prefix is read: the store may have millions of other files.
      const folder = join(directory, prefix.slice(0, prefix.lastIndexOf("/") + 1));
      const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name);
        const key = relative(directory, path).split(sep).join("/");
        if (!entry.isFile() || !key.startsWith(prefix) || parseArtifactKey(key) === undefined) continue;
        // Another process may have deleted it meanwhile.
        const found = await stat(path).catch(() => undefined);
        if (found === undefined) continue;
        if (unfinished.test(entry.name) && Date.now() - found.mtimeMs < abandonedAfterMs) continue;
        yield { ref: refOf(key), bytes: found.size, modifiedAt: found.mtime };
      }
    },
  };
}

async function write(
  path: string,
  content: AsyncIterable<Buffer>,
  signal: AbortSignal | undefined,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const measured = new Measured();
  await using file = await create(path);
  for await (const chunk of measured.of(content, signal)) await file.writeFile(chunk);
  await file.sync();
  return measured.facts();
}

/** Opens a new file. Another process may remove its folder while it is still empty. */
async function create(path: string): Promise<FileHandle> {
  for (let left = 3; ; left -= 1) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      return await open(path, "wx", 0o600);
    } catch (error) {
      if (left === 0 || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Removes a file, and the folder of its job if nothing else is in it. */
async function remove(path: string): Promise<void> {
  await rm(path, { force: true });
  await rmdir(dirname(path)).catch(() => undefined);
}
