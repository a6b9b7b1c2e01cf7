/** Folders for the files of a test. */
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository: string = fileURLToPath(new URL("../../../", import.meta.url));

export interface Folder extends AsyncDisposable {
  readonly path: string;
  write(name: string, text: string): Promise<void>;
}

export async function temporaryFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "jobforge-cli-"));
  // Every user can enter it, so that the user of an embedded server can reach its data in it.
  await chmod(path, 0o755);
  return {
    path,
    write: async (name, text) => {
      await mkdir(dirname(join(path, name)), { recursive: true });
      await writeFile(join(path, name), text);
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** A folder in which the packages of this repository resolve, as in a project that installed them. */
export async function projectFolder(files: Readonly<Record<string, string>>): Promise<Folder> {
  const folder = await temporaryFolder();
  await symlink(join(repository, "node_modules"), join(folder.path, "node_modules"), "junction");
  await folder.write("package.json", '{ "type": "module" }');
  for (const [name, text] of Object.entries(files)) await folder.write(name, text);
  return folder;
}
