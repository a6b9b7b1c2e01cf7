/**
 * The entry `@jobforge/sdk-ts/internal`: what the other packages of JobForge share with the client. It is no API, and
 * may change with every version. Applications use the root.
 */
export { clean, describeError, isError, part, type RunError } from "./jobs/describe-error.ts";
