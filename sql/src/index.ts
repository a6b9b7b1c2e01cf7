export { MigrationError, type MigrationErrorCode } from "./errors.ts";
export { minClient, version } from "./files.ts";
export { describeSchema, type SchemaDrift, schemaDrift } from "./golden.ts";
export {
  type MigrateOptions,
  type MigrateResult,
  type MigrationStatus,
  migrate,
  migrationScript,
  migrationStatus,
} from "./migrate.ts";
export { pinSession } from "./session.ts";
