/** What the REST API takes and answers everywhere. The document at /v1/openapi.json is made of the schemas in this folder. */
import { z } from "@hono/zod-openapi";

export const Time = z.iso
  .datetime({ offset: true })
  .openapi({ format: "date-time", example: "2026-01-31T12:00:00Z" });
/** Any uuid that Postgres takes, not only those of a version. */
export const Id = z.guid().openapi({ format: "uuid", example: "0198c5f0-0000-7000-8000-000000000001" });
/** Any JSON value. */
export const Json = z.unknown().openapi({ description: "Any JSON value" });
/** An interval as Postgres reads and writes it. */
export const Interval = z.string().max(200).openapi({ example: "5m" });
export const Count = z.int().min(0);
export const Type = z.string().min(1).max(200).openapi({ example: "mail.send" });

export const statuses = ["queued", "running", "succeeded", "failed", "dead", "canceled"] as const;
export const Status = z.enum(statuses);

export const Problem = z
  .looseObject({
    type: z.string().openapi({ example: "urn:jobforge:problem:not_cancelable" }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().openapi({ description: "An SQLSTATE, such as JF005" }),
    name: z.string().openapi({ description: "The kernel's word for the reason, such as not_cancelable" }),
    field: z.string().optional().openapi({ description: "What of the request is to blame" }),
    hint: z.string().optional().openapi({ description: "What to do" }),
  })
  .openapi("Problem");
