/** Numbers: what there is, and what was used. */
import { z } from "@hono/zod-openapi";
import { Count, Id, Time } from "./basic.ts";

const counts = {
  queued: Count,
  scheduled: Count,
  running: Count,
  oldest_run_at: Time.nullable(),
  succeeded: Count,
  failed: Count,
  dead: Count,
  canceled: Count,
};

export const Stats = z
  .looseObject({
    at: Time,
    since: Time,
    exact: z.boolean().openapi({ description: "False: what is live is an estimate" }),
    totals: z.looseObject(counts),
    types: z.array(z.looseObject({ type: z.string(), ...counts })),
  })
  .openapi("Stats");

const Milliseconds = z.int().min(0);

export const Usage = z
  .looseObject({
    start_at: Time,
    tenant_id: Id.nullable(),
    type: z.string().nullable(),
    runs: Count,
    succeeded: Count,
    failed: Count,
    lost: Count,
    deferred: Count,
    retries: Count,
    dead: Count,
    cost_cents: z.int(),
    wait_ms: Milliseconds,
    run_ms: Milliseconds,
    wait_p50_ms: Milliseconds.nullable(),
    wait_p95_ms: Milliseconds.nullable(),
    wait_p99_ms: Milliseconds.nullable(),
    run_p50_ms: Milliseconds.nullable(),
    run_p95_ms: Milliseconds.nullable(),
    run_p99_ms: Milliseconds.nullable(),
  })
  .openapi("Usage");

export const LiveCount = z
  .looseObject({
    tenant_id: Id.nullable(),
    type: z.string().nullable(),
    queued: Count,
    scheduled: Count,
    running: Count,
    oldest_run_at: Time.nullable(),
    oldest_ms: Milliseconds.nullable(),
    exact: z.boolean().openapi({ description: "False: the numbers are estimates" }),
  })
  .openapi("LiveCount");
