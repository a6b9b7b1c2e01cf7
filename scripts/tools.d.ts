/** The types of tools.js, for tests in TypeScript. */

/** The programs that can be found or downloaded. */
export type ToolName =
  | "pgbouncer"
  | "redis-server"
  | "schemathesis"
  | "moto-server"
  | "chromium-headless-shell"
  | "kubernetes-validate";

/** A program and the environment it must be run with. */
export interface Tool {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
  /** Such as "1.18.0". */
  readonly version: string;
}

/**
 * Finds a program, and downloads it first if necessary. Resolves to undefined if it is not available, or rejects with
 * an error if JOBFORGE_REQUIRE_TOOLS=1.
 */
export function findTool(name: ToolName): Promise<Tool | undefined>;
