/** How many jobs may run at once and start in a time. */
import { z } from "@hono/zod-openapi";
import { bounds, limitScopes } from "@jobforge/sdk-ts";
import { Count, Interval, integerWithin, Key, TenantLabel, Time } from "./basic.ts";

const LimitScope = z.enum(limitScopes);

const limitName = {
  scope: LimitScope.openapi({ description: "What is limited. Each key has its own limit" }),
  key: Key.openapi({
    description:
      "The type, the tenant, `TYPE:TENANT` or the concurrency key; `*` for all keys without a limit of their own",
    example: "mail.send",
  }),
};

/** Names the limit to remove. */
export const LimitQuery = z.strictObject(limitName);

export const Limit = z
  .looseObject({
    scope: LimitScope,
    key: z.string(),
    max_running: Count.nullable(),
    rate: z.int().min(1).nullable(),
    per: Interval.nullable(),
    burst: z.int().min(1).nullable(),
    set_at: Time,
    set_by: z.string(),
    tenant_label: TenantLabel,
  })
  .openapi("Limit");

export const ListedLimit = Limit.extend({
  running: Count.nullable().openapi({
    description: "Null: not counted, because it is a default or has a rate only",
  }),
  waiting: Count.nullable().openapi({ description: "Due jobs that the limit keeps back" }),
  tokens: Count.nullable().openapi({ description: "How many jobs the rate lets start now" }),
  next_at: Time.nullable().openapi({ description: "When the next token comes, if there are none" }),
  exact: z.boolean().nullable().openapi({ description: "False: `waiting` is a lower bound" }),
}).openapi("ListedLimit");

export const ChangedLimit = Limit.extend({
  known: z
    .boolean()
    .openapi({ description: "False if no job, schedule, policy, worker or setting has this type or tenant" }),
});

const Rate = integerWithin(bounds.rate);

export const NewLimit = z
  .strictObject({
    ...limitName,
    max_running: integerWithin(bounds.maxRunning)
      .nullish()
      .openapi({ description: "How many jobs may run at once" }),
    rate: Rate.nullish().openapi({ description: "How many jobs may start in each `per`" }),
    per: Interval.nullish(),
    burst: Rate.nullish().openapi({
      description: "How many jobs may start at once after a quiet time. Default: `rate`",
    }),
  })
  .openapi("NewLimit");

export const RemovedLimit = z.looseObject({ scope: z.string(), key: z.string(), removed: z.boolean() });
