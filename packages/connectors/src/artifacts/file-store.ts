/** Keeps artifacts as files in a directory. Several workers share them only if they share the directory. */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { type ArtifactStore, parseArtifactKey } from "@jobforge/sdk-ts";
import { Measured } from "./measured.ts";
import { keyOf, notThere, refOf } from "./store.ts";

/** Creates a store in a directory, which is created when it is needed. Only the user of this process can read it. */
export function fileStore(directory: string): ArtifactStore {
  const pathOf = (ref: string): string => join(directory, keyOf(ref));
  return {
    put: async (key, content, { signal }) => {
      const ref = refOf(key);
      const path = pathOf(ref);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // A reader never sees half of a file, and a crash leaves none under the name.
      const temporary = `${path}.${randomBytes(6).toString("hex")}.part`;
      try {
        const written = await write(temporary, content, signal);
        await rename(temporary, path);
        return { ref, ...written };
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    },
    get: async (ref, signal) => {
      const path = pathOf(ref);
      const found = await stat(path).catch(() => undefined);
      if (!found?.isFile()) throw notThere();
      return createReadStream(path, signal === undefined ? {} : { signal });
    },
    delete: (ref) => rm(pathOf(ref), { force: true }),
    list: async function* (prefix) {
      const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name);
        const key = relative(directory, path).split(sep).join("/");
        if (!entry.isFile() || entry.name.endsWith(".part") || !key.startsWith(prefix)) continue;
        if (parseArtifactKey(key) === undefined) continue;
        const { size, mtime } = await stat(path);
        yield { ref: refOf(key), bytes: size, modifiedAt: mtime };
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
  await using file = await open(path, "wx", 0o600);
  for await (const chunk of measured.of(content, signal)) await file.writeFile(chunk);
  await file.sync();
  return measured.facts();
}
