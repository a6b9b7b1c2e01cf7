/** Brings the database in line with what code declares. */
import type { JobDefinition } from "../define/definition.ts";
import type { ScheduleDefinition } from "../define/schedule.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Policies } from "../groups/policies.ts";
import type { Transport } from "../transport/transport.ts";
import { type PolicySync, syncPolicies } from "./policies.ts";
import { type ScheduleSync, syncSchedules } from "./schedules.ts";

export interface SyncOptions {
  /** Only answers what would change. For policies it needs no more than the right to read them. */
  readonly dryRun?: boolean | undefined;
  /**
   * The name of the application whose code this is. Needed for schedules: those that it declared before and no longer does are disabled.
   * Given, but no schedule any more: all of them.
   */
  readonly app?: string | undefined;
  /** Only schedules of this tenant, for those who are no operators. */
  readonly tenantId?: string | undefined;
}

/** Syncs policies first, then, for an `app`, its schedules. */
export async function syncDefinitions(
  transport: Transport,
  policies: Policies,
  definitions: readonly (JobDefinition | ScheduleDefinition)[],
  { app, dryRun = false, tenantId }: SyncOptions,
): Promise<(PolicySync | ScheduleSync)[]> {
  const jobs = definitions.flatMap((each) => ("job" in each ? [] : [each]));
  const schedules = definitions.flatMap((each) => ("job" in each ? [each] : []));
  if (app === undefined && schedules.length > 0)
    throw new InvalidArgumentError("Invalid argument: app is required to sync schedules", {
      field: "app",
      hint: "Name the application whose code declares them, so that those it no longer declares can be told from others.",
    });
  const ofPolicies = await syncPolicies(policies, jobs, dryRun);
  if (app === undefined) return ofPolicies;
  return [...ofPolicies, ...(await syncSchedules(transport, schedules, { app, tenantId, dryRun }))];
}
