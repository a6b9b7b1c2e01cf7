/**
 * The entry `jobforge`: the client, the worker and the migrations in one import. The command is in run.ts and is not
 * loaded here, so that an application does not pay for it.
 */
export * from "@jobforge/sdk-ts";
export { MigrationError, migrate, migrationStatus } from "@jobforge/sql";
export * from "@jobforge/worker-ts";
