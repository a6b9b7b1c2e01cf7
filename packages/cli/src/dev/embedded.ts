/**
 * Loads @jobforge/embedded. It brings the programs of PostgreSQL, which a machine needs only to run a database itself,
 * so it is an optional peer dependency: commands that migrate, serve or work do without it.
 */

type Embedded = typeof import("@jobforge/embedded");

const packageName = "@jobforge/embedded";

/** Resolves with undefined if the package is not installed. */
export async function loadEmbedded(): Promise<Embedded | undefined> {
  try {
    return await import("@jobforge/embedded");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    error.code === "ERR_MODULE_NOT_FOUND" &&
    error.message.includes(packageName)
  );
}
