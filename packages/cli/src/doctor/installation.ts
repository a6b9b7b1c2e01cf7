/** Checks of the installation: migrations, drift, grants, row security, the API schema, time travel. */
import { migrationStatus, schemaDrift, version } from "@jobforge/sql";
import { count } from "../output/values.ts";
import type { Check } from "./check.ts";
import { notAllowed, query } from "./check.ts";

export const migrations: Check = {
  name: "migrations",
  run: async ({ client, schema, health }) => {
    const status = await migrationStatus({ database: client, apiSchema: schema }).catch((error: unknown) => {
      if (isForbidden(error)) return undefined;
      throw error;
    });
    if (status === undefined) {
      if (health === undefined) return notAllowed;
      return health.version === version
        ? {
            verdict: "ok",
            message: `The schema is that of JobForge ${version}; the migration files were not compared.`,
          }
        : {
            verdict: "problem",
            message: `The schema is that of JobForge ${health.version}, but this is version ${version}.`,
            advice: `Run jobforge migrate as the owner, or use version ${health.version}.`,
          };
    }
    if (status.upToDate) return { verdict: "ok", message: `The schema is that of JobForge ${version}.` };
    const pending = status.pending.length > 0 ? status.pending.join(", ") : "functions and views";
    return { verdict: "problem", message: `Pending: ${pending}.`, advice: "Run jobforge migrate." };
  },
};

export const drift: Check = {
  name: "drift",
  run: async ({ client, schema }) => {
    const status = await migrationStatus({ database: client, apiSchema: schema }).catch(() => undefined);
    if (status === undefined)
      return { ...notAllowed, advice: "Run the doctor as a member of jobforge_owner to compare the schema." };
    if (!status.upToDate)
      return { verdict: "skipped", message: "The schema can be compared only after a migration." };
    const { missing, unexpected } = await schemaDrift(client, schema);
    const count = missing.length + unexpected.length;
    if (count === 0) return { verdict: "ok", message: "The schema is as the migrations created it." };
    const [first = ""] = [
      ...missing.map((line) => `missing: ${line}`),
      ...unexpected.map((line) => `unexpected: ${line}`),
    ];
    return {
      verdict: "problem",
      message: `${count} details differ from the schema that the migrations created, such as ${first}`,
      advice: [
        "JobForge's objects were changed by hand. Undo the changes.",
        "To restore functions, views and grants: delete from jobforge.repeatables, then jobforge migrate.",
      ].join(" "),
      details: { missing, unexpected },
    };
  },
};

export const grants: Check = {
  name: "roles and grants",
  run: async ({ client, health }) => {
    if (health === undefined) return notAllowed;
    const rows = await query<{ role: string }>(
      client,
      `select r as role
       from unnest(array['jobforge_owner', 'jobforge_view', 'jobforge_tenant', 'jobforge_app', 'jobforge_worker',
         'jobforge_operator', 'jobforge_reader']) r
       where to_regrole(r) is null`,
    );
    if (rows.length > 0)
      return {
        verdict: "problem",
        message: `Roles are missing: ${rows.map(({ role }) => role).join(", ")}.`,
        advice: "Run jobforge migrate, which creates them.",
      };
    if (health.grants.length === 0) return { verdict: "ok", message: "All grants are as expected." };
    return {
      verdict: "problem",
      message: `${health.grants.length} objects have unexpected grants, such as ${health.grants[0]?.object}.`,
      advice: [
        "Grants made by hand allow access that JobForge denies.",
        "To remove them: delete from jobforge.repeatables, then jobforge migrate.",
      ].join(" "),
      details: health.grants,
    };
  },
};

export const rowSecurity: Check = {
  name: "row security",
  run: async ({ health }) => {
    if (health === undefined) return notAllowed;
    if (health.openTables.length === 0)
      return { verdict: "ok", message: "Row security is on for every table." };
    return {
      verdict: "problem",
      message: `Row security is off for ${health.openTables.join(", ")}.`,
      advice: `Turn it on: ${health.openTables.map((table) => `alter table jobforge.${table} enable row level security;`).join(" ")}`,
      details: health.openTables,
    };
  },
};

export const foreignObjects: Check = {
  name: "foreign objects",
  run: async ({ schema, health }) => {
    if (health === undefined) return notAllowed;
    const [first, ...others] = health.foreignObjects;
    if (first === undefined)
      return { verdict: "ok", message: `Nothing in the schema ${schema} looks like JobForge but is not.` };
    return {
      verdict: "problem",
      message: `The ${first.kind} ${first.object}${others.length === 0 ? "" : ` and ${others.length} more`} has a name like JobForge's, but belongs to ${first.owner}.`,
      advice: "A call may reach it in place of JobForge's. Drop or rename it, and find out who created it.",
      details: health.foreignObjects,
    };
  },
};

export const apiSchemaRights: Check = {
  name: "api schema",
  run: async ({ schema, health }) => {
    if (health === undefined) return notAllowed;
    if (health.creators.length === 0)
      return { verdict: "ok", message: `Only its owner may create objects in the schema ${schema}.` };
    const named = health.creators.map((role) => (role === "public" ? "every role" : role)).join(", ");
    return {
      verdict: "warning",
      message: `In the schema ${schema} objects may be created by ${named}.`,
      advice: [
        "A function there can take the place of one of JobForge's in calls with untyped arguments.",
        `Revoke the right: ${health.creators.map((role) => `revoke create on schema ${schema} from ${role};`).join(" ")}`,
        "Or install JobForge with --api-schema in a schema of its own.",
      ].join(" "),
      details: health.creators,
    };
  },
};

export const bindings: Check = {
  name: "bindings",
  run: async ({ health }) => {
    if (health === undefined) return notAllowed;
    if (health.staleBindings.length === 0)
      return { verdict: "ok", message: "Every bound role still exists under its name." };
    const [first = ""] = health.staleBindings;
    return {
      verdict: "warning",
      message: `${count(health.staleBindings.length, "binding")} of roles that were renamed, dropped or restored, such as ${first}.`,
      advice: [
        "Such a role is refused. Bind it again with jobforge_bind_role(ROLE, TENANT),",
        "or remove the binding of a role that is gone: jobforge_bind_role(ROLE, null).",
      ].join(" "),
      details: health.staleBindings,
    };
  },
};

export const timeTravel: Check = {
  name: "time travel",
  run: async ({ health }) => {
    if (health === undefined) return notAllowed;
    if (!health.timeTravel) return { verdict: "ok", message: "The clock cannot be moved." };
    return {
      verdict: "warning",
      message: "Sessions may move JobForge's clock, which is only for tests.",
      advice: "In production, turn it off: select jobforge.allow_time_travel(false);",
    };
  },
};

function isForbidden(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "42501" || code === "insufficient_privilege";
}
