/** Reads which JobForge a database holds, and compares it with the files of this package. */
import type { ClientBase } from "pg";
import { MigrationError } from "./errors.ts";
import { type NumberedFile, numberedFiles, type RepeatableFiles, repeatableFiles, version } from "./files.ts";

export interface Installed {
  readonly version: string;
  readonly apiSchema: string;
  readonly migrations: ReadonlyMap<number, { name: string; checksum: string }>;
  readonly repeatables: ReadonlyMap<string, string>;
}

export interface Plan {
  readonly apiSchema: string;
  readonly installed: Installed | undefined;
  readonly migrations: readonly NumberedFile[];
  /** All repeatable files. They refer to each other, so they are applied together when one has changed. */
  readonly repeatables: RepeatableFiles;
  readonly upToDate: boolean;
}

/**
 * Reads what is installed. Returns undefined when nothing is. Every name is written with its schema, so that the search
 * path of the session does not matter.
 */
export async function readInstalled(client: ClientBase): Promise<Installed | undefined> {
  // Not to_regclass(): after a wait for another migration it may read an outdated cache.
  const { rows: found } = await client.query<{ found: boolean }>(`
    select exists (
      select from pg_catalog.pg_class c
      join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
      where n.nspname operator(pg_catalog.=) 'jobforge'
        and c.relname operator(pg_catalog.=) 'installation') as found`);
  if (!found[0]?.found) return undefined;
  const { rows } = await client.query<{ installed: RawInstalled | null }>(`
    select pg_catalog.jsonb_build_object(
      'version', i.version,
      'apiSchema', i.api_schema,
      'migrations', (select coalesce(pg_catalog.jsonb_agg(m), '[]') from jobforge.migrations m),
      'repeatables', (select coalesce(pg_catalog.jsonb_agg(r), '[]') from jobforge.repeatables r)) as installed
    from jobforge.installation i`);
  const raw = rows[0]?.installed;
  if (!raw) return undefined;
  return {
    version: raw.version,
    apiSchema: raw.apiSchema,
    migrations: new Map(raw.migrations.map((m) => [m.number, m])),
    repeatables: new Map(raw.repeatables.map((r) => [r.name, r.checksum])),
  };
}

interface RawInstalled {
  version: string;
  apiSchema: string;
  migrations: { number: number; name: string; checksum: string }[];
  repeatables: { name: string; checksum: string }[];
}

/** Compares what is installed with the files. Throws when migrating would lose something. */
export function plan(installed: Installed | undefined, wantedSchema: string | undefined): Plan {
  const apiSchema = wantedSchema ?? installed?.apiSchema ?? "public";
  checkApiSchema(apiSchema, installed);
  const numbered = numberedFiles(apiSchema);
  const repeatables = repeatableFiles(apiSchema);
  const { beforeTables, afterTables, last } = repeatables;
  const files = [...beforeTables, ...afterTables, ...last];
  if (installed) checkHistory(installed, numbered);
  const migrations = numbered.filter((file) => !installed?.migrations.has(file.number));
  const changed =
    migrations.length > 0 ||
    installed?.version !== version ||
    files.length !== installed.repeatables.size ||
    files.some((file) => installed.repeatables.get(file.name) !== file.checksum);
  return { apiSchema, installed, migrations, repeatables, upToDate: !changed };
}

function checkApiSchema(apiSchema: string, installed: Installed | undefined): void {
  if (
    !/^[a-z_][a-z0-9_]{0,62}$/i.test(apiSchema) ||
    /^(pg_|jobforge$|information_schema$)/i.test(apiSchema)
  ) {
    throw new MigrationError(
      "invalid_api_schema",
      `"${apiSchema}" cannot be the API schema`,
      "Use letters, digits and underscores. Names of the system and the name jobforge are reserved.",
    );
  }
  if (installed && installed.apiSchema !== apiSchema) {
    throw new MigrationError(
      "api_schema_differs",
      `JobForge is installed with the API schema "${installed.apiSchema}", not "${apiSchema}"`,
      `Migrate with --api-schema ${installed.apiSchema}, or without the option.`,
    );
  }
}

function checkHistory(installed: Installed, numbered: readonly NumberedFile[]): void {
  const unknown = [...installed.migrations.keys()].filter((n) => !numbered.some((file) => file.number === n));
  if (unknown.length > 0 || compareVersions(installed.version, version) > 0) {
    throw new MigrationError(
      "newer_jobforge",
      `This database was migrated by JobForge ${installed.version}; this is ${version}`,
      `Use JobForge ${installed.version} or newer. Older workers may keep running, but they cannot migrate.`,
    );
  }
  for (const file of numbered) {
    const applied = installed.migrations.get(file.number);
    if (applied && applied.checksum !== file.checksum) {
      throw new MigrationError(
        "changed_migration",
        `Migration ${file.name} differs from the one that was applied to this database`,
        "Restore the file. A numbered migration never changes after its release. Write a new one instead.",
      );
    }
  }
}

/** Orders two versions of the form 1.2.3 or 1.2.3-beta.4. A release comes after its pre-releases. */
export function compareVersions(a: string, b: string): number {
  const [coreA, preA] = splitVersion(a);
  const [coreB, preB] = splitVersion(b);
  const core = coreA.localeCompare(coreB, "en", { numeric: true });
  if (core !== 0 || preA === preB) return core;
  if (preA === "") return 1;
  if (preB === "") return -1;
  return preA.localeCompare(preB, "en", { numeric: true });
}

function splitVersion(version: string): readonly [core: string, preRelease: string] {
  const [core = "", ...preRelease] = version.split("-");
  return [core, preRelease.join("-")];
}
