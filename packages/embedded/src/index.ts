/** A real PostgreSQL from npm binaries, for laptops and tests. */

export { EmbeddedPostgresError, type EmbeddedPostgresErrorCode } from "./errors.ts";
export { findEmbedded } from "./find.ts";
export { startEmbedded } from "./start.ts";
export type { EmbeddedAddress, EmbeddedOptions, EmbeddedPostgres, StopOptions } from "./types.ts";
