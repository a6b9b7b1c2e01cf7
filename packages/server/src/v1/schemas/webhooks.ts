/** Endpoints of webhooks, their secrets and deliveries, and events. */
import { z } from "@hono/zod-openapi";
import { bounds, webhookFormats, webhookParts, webhookSignatures, webhookStates } from "@jobforge/sdk-ts";
import { Count, Id, Interval, integerWithin, Json, Status, Time } from "./basic.ts";
import { SecretName, Url } from "./notify.ts";
import { limitParameter, several, tenantParameter } from "./parameters.ts";

const Words = z.array(z.string().min(1)).max(50);
const MasterKey = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

const settings = {
  description: z.string().max(1024).nullish(),
  events: Words.min(1).nullish().openapi({
    description: "Types of events, such as `job.dead`, `job.*`, `invoice.*`. Default: the four ends of a job",
  }),
  job_types: Words.nullish().openapi({ description: "Only events of jobs of these types. Default: all" }),
  tags: Words.nullish().openapi({ description: "Only events of jobs that have all of these tags" }),
  include: z
    .array(z.enum(webhookParts))
    .nullish()
    .openapi({ description: "What events of jobs contain in addition" }),
  format: z.enum(webhookFormats).nullish(),
  signature: z.enum(webhookSignatures).nullish(),
  headers: z.record(z.string(), z.union([z.string(), SecretName])).nullish(),
  ordered: z
    .boolean()
    .nullish()
    .openapi({ description: "One delivery at a time, in the order of the events" }),
  retry_schedule: z
    .array(z.int().min(1).max(86_400))
    .min(1)
    .max(50)
    .nullish()
    .openapi({ description: "The waits after each failure in seconds. Default: those of the policy" }),
};

export const NewEndpoint = z
  .strictObject({ url: Url, ...settings, master_key: MasterKey.optional() })
  .openapi("NewEndpoint");

export const EndpointChanges = z
  .strictObject({ url: Url.optional(), ...settings })
  .openapi("EndpointChanges");

const KeyVersion = z.looseObject({
  version: z.int().min(1),
  master_key: z.string(),
  until: Time.optional().openapi({ description: "When an older version stops signing" }),
});

export const WebhookEndpoint = z
  .looseObject({
    id: Id,
    tenant_id: Id,
    url: z.string(),
    description: z.string().nullable(),
    events: z.array(z.string()),
    job_types: z.array(z.string()),
    tags: z.array(z.string()),
    include: z.array(z.enum(webhookParts)),
    format: z.enum(webhookFormats),
    signature: z.enum(webhookSignatures),
    headers: z.looseObject({}),
    ordered: z.boolean(),
    retry_schedule: z.array(z.int()).nullable(),
    keys: z.array(KeyVersion).openapi({ description: "The keys that sign now, the newest first" }),
    state: z.enum(webhookStates),
    reason: z.string().nullable().openapi({ description: "Why it is disabled" }),
    disabled_at: Time.nullable(),
    failing_since: Time.nullable().openapi({ description: "Since when every delivery fails" }),
    held_until: Time.nullable().openapi({ description: "Until when deliveries are held back" }),
    created_at: Time,
    updated_at: Time,
  })
  .openapi("WebhookEndpoint");

export const DeletedEndpoint = z.looseObject({ id: Id, deleted: z.boolean(), canceled: Count });
export const TestedEndpoint = z.looseObject({ id: Id, job_id: Id });
export const Disabling = z.strictObject({ reason: z.string().min(1).max(1024).optional() });
export const Rotation = z.strictObject({
  keep: Interval.optional().openapi({
    description: "How long the key before signs as well. Default: 24 hours",
  }),
  master_key: MasterKey.optional(),
});

export const EndpointSecrets = z
  .looseObject({
    items: z.array(
      z.looseObject({
        version: z.int().min(1),
        secret: z.string().openapi({ description: "`whsec_…`, or the public key `whpk_…`" }),
        until: Time.optional(),
      }),
    ),
  })
  .openapi("EndpointSecrets");

const times = {
  created_after: Time.optional(),
  created_before: Time.optional(),
  finished_after: Time.optional(),
  finished_before: Time.optional(),
};

export const DeliveryQuery = z.strictObject({
  ...tenantParameter,
  status: several(Status),
  tags: several(z.string()),
  error_contains: z.string().optional(),
  ...times,
  ...limitParameter,
  cursor: Id.optional(),
});

const DeliveryFilters = z
  .strictObject({
    status: z.union([Status, z.array(Status).min(1)]).optional(),
    tags: z.union([z.string(), z.array(z.string())]).optional(),
    error_contains: z.string().optional(),
    ...times,
  })
  .openapi("DeliveryFilters");

export const Replay = z.strictObject({
  filters: DeliveryFilters.optional(),
  limit: integerWithin(bounds.bulkLimit).optional(),
});
export const Replayed = z.looseObject({ matched: Count, replayed: Count });

export const NewEvent = z
  .strictObject({
    type: z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/)
      .openapi({ example: "invoice.paid" }),
    data: Json.optional(),
    id: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/)
      .optional()
      .openapi({ description: "Receivers ignore an id that they have seen. Default: a new one" }),
    timestamp: Time.optional(),
  })
  .openapi("NewEvent");

export const SentEvent = z.looseObject({ id: z.string(), deliveries: z.array(Id) });
