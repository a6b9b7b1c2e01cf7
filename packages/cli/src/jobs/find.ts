/** Finds a job by its id alone, because operators find ids in logs without the tenant. */
import type { Job } from "@jobforge/sdk-ts";
import pg from "pg";
import type { Connection } from "../connection.ts";
import { NotFoundError, UsageError } from "../failures.ts";

export async function findJob(connection: Connection, id: string, tenant: string | undefined): Promise<Job> {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id))
    throw new UsageError(`"${id}" is not a valid job id. A job id is a UUID.`);
  const tenantId = tenant ?? (await tenantOf(connection, id));
  const job = tenantId === undefined ? undefined : await connection.forge.get(id, { tenantId });
  if (job === undefined) throw new NotFoundError(`There is no job ${id}${tenant ? " of this tenant" : ""}.`);
  return job;
}

async function tenantOf({ pool, schema }: Connection, id: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ tenant_id: string }>(
    `select tenant_id from ${pg.escapeIdentifier(schema)}.jobforge_jobs where id operator(pg_catalog.=) $1::pg_catalog.uuid`,
    [id],
  );
  return rows[0]?.tenant_id;
}
