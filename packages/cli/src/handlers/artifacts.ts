/** The artifact store that JOBFORGE_ARTIFACTS names. */
import type { ArtifactStore } from "@jobforge/sdk-ts";
import { UsageError } from "../failures.ts";
import type { CliProcess } from "../process.ts";

export const defaultStore = "file:.jobforge/artifacts";

/** Without the variable: files in `.jobforge/artifacts`, where the worker of this directory keeps them. */
export async function loadArtifacts({ env, cwd }: CliProcess): Promise<ArtifactStore> {
  const { openStore } = await import("@jobforge/connectors");
  try {
    return openStore(env["JOBFORGE_ARTIFACTS"] || defaultStore, { env, cwd: cwd?.() ?? process.cwd() });
  } catch (error) {
    throw new UsageError(`JOBFORGE_ARTIFACTS is invalid: ${(error as Error).message}.`);
  }
}

/** Whether the user has named a store. Large results then go there, because their readers know it as well. */
export function isShared({ env }: CliProcess): boolean {
  return (env["JOBFORGE_ARTIFACTS"] ?? "") !== "";
}
