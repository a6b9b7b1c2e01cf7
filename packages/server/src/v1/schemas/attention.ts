/** What needs attention. */
import { z } from "@hono/zod-openapi";
import { Count, Id, TenantLabel, Time } from "./basic.ts";

const kinds = [
  "paused",
  "no_worker",
  "long_wait",
  "at_limit",
  "held",
  "worker_gone",
  "long_runs",
  "overdue_schedules",
  "failing_schedules",
  "dead_spike",
  "disabled_webhooks",
  "quota_full",
  "maintenance",
] as const;

/** The kinds of things that rows are about. */
const targets = [
  "gate",
  "type",
  "schedules",
  "dead",
  "webhooks",
  "tenant",
  "workers",
  "maintenance",
] as const;

export const Attention = z
  .looseObject({
    kind: z.enum(kinds),
    severity: z.enum(["error", "warning"]),
    message: z
      .string()
      .openapi({ description: "A sentence", example: "No live worker runs mail.send: 2 jobs are due" }),
    count: Count.openapi({ description: "How many things are affected" }),
    exact: z.boolean().openapi({ description: "False: `count` is an estimate or a lower bound" }),
    since: Time.nullable(),
    target: z.enum(targets).openapi({
      description: "What it is about. `type`, `tenant_id` and `key` name one; null: all of them",
    }),
    type: z.string().nullable(),
    tenant_id: Id.nullable(),
    tenant_label: TenantLabel,
    key: z.string().nullable(),
  })
  .openapi("Attention");
