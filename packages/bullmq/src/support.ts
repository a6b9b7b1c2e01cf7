/** What Redis cannot do is refused where it would be left out without a word. */
import { type JobDefinition, NotSupportedError } from "@jobforge/sdk-ts";

/** Refuses a definition that asks for something that only Postgres has. */
export function requireSupported(definition: JobDefinition | undefined): void {
  // What is no definition at all is refused elsewhere.
  if (definition === undefined) return;
  const { keepLogs = "off" } = definition;
  if (keepLogs !== "off")
    throw new NotSupportedError(`${definition.type} has keepLogs, and Redis keeps no logs`, {
      field: "keepLogs",
      hint: "Leave it out and read the worker's own log, or keep this type on Postgres.",
    });
  if (definition.auditAction !== undefined)
    throw new NotSupportedError(`${definition.type} has an auditAction, and Redis keeps no audit log`, {
      field: "auditAction",
      hint: "Leave it out and write the entry in the handler, or keep this type on Postgres.",
    });
}

export function refuseNotify(notify: object | undefined): void {
  if (notify === undefined) return;
  throw new NotSupportedError("notify is not supported on Redis: webhooks are sent by the database", {
    field: "notify",
    hint: "Send the webhook in the handler, or keep this type on Postgres.",
  });
}

export function refuseConcurrencyKey(key: string | undefined): void {
  if (key === undefined) return;
  throw new NotSupportedError(
    "concurrencyKey is not supported on Redis: jobs with one key would run at once",
    {
      field: "concurrencyKey",
      hint: "Leave it out and limit the worker with maxPerType, or keep this type on Postgres.",
    },
  );
}

export function refuseOffload(offload: boolean | undefined): void {
  if (offload !== true) return;
  throw new NotSupportedError(
    "offload is not supported on Redis: nothing would delete the payload with its job",
    {
      field: "offload",
      hint: "Leave it out, or keep this type on Postgres.",
    },
  );
}
