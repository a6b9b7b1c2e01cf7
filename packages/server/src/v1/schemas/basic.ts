/**
 * The values, fields and shapes that several resources share. The document at /v1/openapi.json is generated from the
 * schemas in this folder.
 */
import { z } from "@hono/zod-openapi";
import { type Bounds, bounds, jobStatuses, typePattern } from "@jobforge/sdk-ts";

export function integerWithin({ min, max }: Bounds): z.ZodInt {
  return z.int().min(min).max(max);
}

export function textWithin({ min, max }: Bounds): z.ZodString {
  return z.string().min(min).max(max);
}

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
export const Type = textWithin(bounds.typeLength)
  .regex(
    typePattern,
    "must consist of letters, digits and _ . : / @ -, and begin with a letter, a digit or _",
  )
  .openapi({ example: "mail.send" });

export const TenantLabel = z
  .string()
  .nullable()
  .openapi({ description: "What people call the tenant. Null: it has no label" });

export const Status = z.enum(jobStatuses);

// Fields of jobs that schedules, policies and limits have as well.
export const Key = textWithin(bounds.keyBytes);
export const Subject = z.string().max(bounds.keyBytes.max);
export const Priority = integerWithin(bounds.priority);
export const MaxAttempts = integerWithin(bounds.maxAttempts);
export const Tags = z.array(z.string().min(1)).max(bounds.tags.max);

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
