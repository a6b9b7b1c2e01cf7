/** Checks of what a call names: tenants, types and definitions. */
import { TenantRequiredError } from "../errors.ts";
import { bounds, typePattern } from "../words.ts";
import { checkUuid, describe, refuse, requireObject } from "./values.ts";

/** The tenant of work that belongs to no tenant. */
export const globalTenant = "00000000-0000-0000-0000-000000000000";

export function checkTenant(tenantId: unknown, field = "tenantId"): void {
  if (tenantId === undefined || tenantId === null)
    throw new TenantRequiredError(`${field} is required`, {
      field,
      hint:
        `Pass the tenant's uuid, or tenantId("org_123") for an id of another form, or globalTenant (${globalTenant}) ` +
        "for work that belongs to no tenant.",
    });
  checkUuid(
    tenantId,
    field,
    `If your tenants have ids of another form, pass tenantId(${inCode(tenantId)}), which is always the same uuid.`,
  );
}

/** Checks the object by which a call names the tenant of a job or schedule. */
export function checkTenantOf(reference: { readonly tenantId: string } | undefined): void {
  if (reference !== undefined) requireObject(reference, "options", "Pass { tenantId }.");
  checkTenant(reference?.tenantId);
}

/** The value as a program would write it, if that is short. */
export function inCode(value: unknown): string {
  const isShort =
    (typeof value === "string" && value !== "" && value.length <= 40) || typeof value === "number";
  return isShort ? JSON.stringify(value) : '"org_123"';
}

/** Checks a definition that defineJob may not have created. */
export function checkDefinitionOf(job: unknown, at = ""): void {
  if (typeof job === "string")
    refuse(
      `${at}job`,
      `must be a definition, not the text ${JSON.stringify(job.slice(0, 200))}`,
      `Define the job once with defineJob({ type: ${JSON.stringify(job.slice(0, 200))} }), and pass the definition.`,
    );
  if (typeof job !== "object" || job === null)
    refuse(
      `${at}job`,
      `must be a definition, not ${describe(job)}`,
      "Pass what defineJob({ type }) returns.",
    );
  if ("definition" in job && !("type" in job))
    refuse(`${at}job`, "must be a definition, not a handler", "Pass what defineJob({ type }) returns.");
  if ("graph" in job)
    refuse(
      `${at}job`,
      "must be the definition of a job, not a workflow",
      "Pass the workflow to forge.start().",
    );
  checkType((job as { type?: unknown }).type, `${at}type`);
}

export function checkType(type: unknown, field = "type"): void {
  if (type === undefined || type === null) refuse(field, "is required", 'Pass a text such as "mail.send".');
  if (typeof type !== "string") refuse(field, `must be a text, not ${describe(type)}`);
  if (type.trim() === "") refuse(field, "must not be empty");
  if (type.length > bounds.typeLength.max)
    refuse(field, `must not be longer than ${bounds.typeLength.max} characters`);
  if (type === "*") refuse(field, 'must not be "*", which is the name of the default policy');
  if (!typePattern.test(type))
    refuse(
      field,
      `must consist of letters, digits and _ . : / @ -, and begin with a letter, a digit or _, not ${inCode(type)}`,
      "Use a name such as mail.send, EMAIL_SEND or app/tasks:send.",
    );
}
