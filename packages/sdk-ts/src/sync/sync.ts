/** Brings the database in line with what code declares. */
import { checkDefinitionOf } from "../arguments/names.ts";
import type { JobDefinition } from "../define/definition.ts";
import type { ScheduleDefinition } from "../define/schedule.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Transport } from "../transport/transport.ts";
import { type PolicySync, type PolicySyncOptions, syncPolicies } from "./policies.ts";
import { type ScheduleSync, syncSchedules } from "./schedules.ts";

export interface SyncOptions extends PolicySyncOptions {
  /**
   * The name of the application that declares the definitions. It is required for schedules: the ones that the
   * application declared before and no longer declares are disabled. If it declares no schedules, all its earlier ones
   * are disabled.
   */
  readonly app?: string | undefined;
  /** Syncs only schedules of this tenant. Required for logins that are not operators. */
  readonly tenantId?: string | undefined;
}

/** Syncs policies first, then, for an `app`, its schedules. */
export async function syncDefinitions(
  transport: Transport,
  definitions: readonly (JobDefinition | ScheduleDefinition)[],
  { app, tenantId, ...options }: SyncOptions,
): Promise<(PolicySync | ScheduleSync)[]> {
  if (!Array.isArray(definitions))
    throw new InvalidArgumentError("Invalid argument: definitions must be an array", {
      field: "definitions",
      hint: "Pass [job], with what defineJob and defineSchedule return.",
    });
  for (const [index, each] of definitions.entries())
    checkDefinitionOf(
      "job" in Object(each) ? (each as ScheduleDefinition).job : each,
      `definitions[${index}].`,
    );
  const jobs = definitions.flatMap((each) => ("job" in each ? [] : [each]));
  const schedules = definitions.flatMap((each) => ("job" in each ? [each] : []));
  if (app === undefined && schedules.length > 0)
    throw new InvalidArgumentError("Invalid argument: app is required to sync schedules", {
      field: "app",
      hint: "Name the application that declares them, so that sync can disable those it no longer declares.",
    });
  const ofPolicies = await syncPolicies(transport, jobs, options);
  if (app === undefined) return ofPolicies;
  const { dryRun } = options;
  return [...ofPolicies, ...(await syncSchedules(transport, schedules, { app, tenantId, dryRun }))];
}
