/** Finds a workflow by its id alone, because operators find ids in logs without the tenant. */
import type { WorkflowDetails } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import pg from "pg";
import { type CommonOptions, onDatabase } from "../command.ts";
import type { Connection } from "../connection.ts";
import { NotFoundError, UsageError } from "../failures.ts";
import { readTenant } from "../output/values.ts";

export interface OneOptions extends CommonOptions {
  readonly tenant?: string;
}

/** Adds the options of a command about one workflow. */
export function ofOne(command: Command): Command {
  return onDatabase(command).option(
    "--tenant <id>",
    "the tenant of the workflow (default: found by the id, for operators)",
    readTenant,
  );
}

export async function findWorkflow(
  connection: Connection,
  id: string,
  tenant: string | undefined,
): Promise<WorkflowDetails> {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id))
    throw new UsageError(`"${id}" is not a valid workflow id. It is a UUID.`);
  const tenantId = tenant ?? (await tenantOf(connection, id));
  const found = tenantId === undefined ? undefined : await connection.forge.workflows.get(id, { tenantId });
  if (found === undefined)
    throw new NotFoundError(`There is no workflow ${id}${tenant ? " of this tenant" : ""}.`);
  return found;
}

async function tenantOf({ pool, schema }: Connection, id: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ tenant_id: string }>(
    `select tenant_id from ${pg.escapeIdentifier(schema)}.jobforge_workflows
     where id operator(pg_catalog.=) $1::pg_catalog.uuid`,
    [id],
  );
  return rows[0]?.tenant_id;
}
