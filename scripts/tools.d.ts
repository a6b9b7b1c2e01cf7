/** The types of tools.js, for the tests that are written in TypeScript. */

/** What can be had. */
export type ToolName =
  | "pgbouncer"
  | "redis-server"
  | "schemathesis"
  | "chromium-headless-shell"
  | "kubernetes-validate";

/** A program, to be run with its environment. */
export interface Tool {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
  /** Such as "1.18.0". */
  readonly version: string;
}

/** Finds a program, fetching it first when it has to. Undefined when it cannot be had; an error with JOBFORGE_REQUIRE_TOOLS=1. */
export function findTool(name: ToolName): Promise<Tool | undefined>;
