/** Requests that create, count or change many jobs. */
import { z } from "@hono/zod-openapi";
import { bounds, bulkChanges } from "@jobforge/sdk-ts";
import { Count, Id, integerWithin, Json, Status, Time, Type } from "./basic.ts";
import { findFields, NewJob, Outcome, searchFields } from "./jobs.ts";

const maxNewJobs = 50_000;

export const NewJobs = z.strictObject({ jobs: z.array(NewJob).max(maxNewJobs) }).openapi("NewJobs");

/** Leaves out the columns of the job: reading them back costs time, and most callers do not need them. */
const Enqueued = z.looseObject({ id: Id, outcome: Outcome }).openapi("Enqueued");

export const EnqueuedJobs = z.looseObject({ items: z.array(Enqueued) });

/** Selects the jobs of a bulk request. */
const JobFilters = z
  .strictObject({
    status: z.union([Status, z.array(Status).min(1)]).optional(),
    type: z.union([Type, z.array(Type).min(1)]).optional(),
    tags: z.union([z.string(), z.array(z.string())]).optional(),
    ...searchFields,
    ...findFields,
    ids: z.array(Id).max(bounds.bulkIds.max).optional(),
    reason: z.union([z.string(), z.array(z.string())]).optional(),
    tags_any: z.union([z.string(), z.array(z.string())]).optional(),
    priority: z.int().optional(),
    attempts_min: z.int().optional(),
    payload: Json.optional().openapi({ description: "Jobs whose payload contains this object or array" }),
  })
  .openapi("JobFilters");

export const BulkCount = z
  .strictObject({
    filters: JobFilters.optional(),
    change: z
      .enum(bulkChanges)
      .optional()
      .openapi({ description: "Count only the jobs that this change would affect" }),
  })
  .openapi("BulkCount");

export const JobCount = z
  .looseObject({
    tenant_id: Id,
    type: z.string(),
    status: Status,
    jobs: Count,
    exact: z.boolean(),
    oldest_at: Time.openapi({ description: "When the first of them was created" }),
    newest_at: Time,
    counted_at: Time.openapi({
      description: "Pass it as `created_before`, so that a change affects no job that came after the count",
    }),
  })
  .openapi("JobCount");

export const BulkChange = z
  .strictObject({
    filters: JobFilters,
    limit: integerWithin(bounds.bulkLimit).default(bounds.bulkLimit.default),
    operation: Id.optional().openapi({
      description: "An id of your own for all requests of one change. Without tenant_id: jobs of all tenants",
    }),
    cursor: Id.optional().openapi({ description: "The `cursor` of the previous request of the operation" }),
  })
  .openapi("BulkChange");

export const BulkResult = z
  .looseObject({
    matched: Count,
    changed: Count,
    audit_id: z.int().openapi({ description: "The entry of the operation in the audit log" }),
    cursor: Id.nullable().openapi({ description: "Where the operation goes on. Null: it is done" }),
    total: z.looseObject({ matched: Count, changed: Count }).openapi({ description: "Of the operation" }),
  })
  .openapi("BulkResult");
