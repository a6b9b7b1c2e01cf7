/**
 * The values, fields and shapes that several resources share. The document at /v1/openapi.json is generated from the
 * schemas in this folder.
 */
import { z } from "@hono/zod-openapi";

export const Time = z.iso
  .datetime({ offset: true })
  .openapi({ format: "date-time", example: "2026-01-31T12:00:00Z" });
/** Any UUID that Postgres accepts, of any version. */
export const Id = z.guid().openapi({ format: "uuid", example: "0198c5f0-0000-7000-8000-000000000001" });
export const Json = z.unknown().openapi({ description: "Any JSON value" });
/** An interval in the notation of Postgres. */
export const Interval = z.string().max(200).openapi({ example: "5m" });
export const Count = z.int().min(0);
export const Milliseconds = z.int().min(0);
export const Type = z.string().min(1).max(200).openapi({ example: "mail.send" });

export const statuses = ["queued", "running", "succeeded", "failed", "dead", "canceled"] as const;
export const Status = z.enum(statuses);

// Fields of jobs that schedules, policies and limits have as well. The kernel sets the bounds.
export const Key = z.string().min(1).max(1024);
export const Subject = z.string().max(1024);
export const Priority = z.int().min(-1_000_000).max(1_000_000);
export const MaxAttempts = z.int().min(1).max(100_000);
export const Tags = z.array(z.string().min(1)).max(50);

/** A page of rows, and where the next page begins. */
export function pageOf(schema: z.ZodType): z.ZodType {
  return z.looseObject({
    items: z.array(schema),
    cursor: z
      .string()
      .nullable()
      .openapi({ description: "Pass it as `cursor` to get the next page. Null on the last page" }),
  });
}

export const Problem = z
  .looseObject({
    type: z.string().openapi({ example: "urn:jobforge:problem:not_cancelable" }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().openapi({ description: "An SQLSTATE, such as JF005" }),
    name: z.string().openapi({ description: "The kernel's name for the error, such as not_cancelable" }),
    field: z.string().optional().openapi({ description: "The part of the request that is wrong" }),
    hint: z.string().optional().openapi({ description: "What to do about it" }),
  })
  .openapi("Problem");
