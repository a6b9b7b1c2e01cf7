/**
 * Functions that are names for an expression, and cost nothing because Postgres replaces the call by the expression. It
 * stops doing so, without a message, when a function gets a SET clause, a wrong volatility, a subquery, or a costly
 * argument that it uses twice.
 */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import type { Sql } from "../support/kernel.ts";

/** Calls with columns as arguments, which no planner can compute in advance. */
const calls: readonly string[] = [
  "add_cost(x.number, x.number)",
  "acts_for_all()",
  "all_pages_read()",
  "all_tenants()",
  "attempts_for(x.number, x.number, x.number, x.flag)",
  "brief_lock_timeout()",
  "bucket_id(x.bytes, x.text, x.text, x.id, x.text)",
  "created_document(x.job, x.id, x.text, x.number, x.number, x.at, x.text)",
  "dedupe_modes()",
  "default_max_types()",
  "delayed(x.at, x.lane)",
  "document_problem(x.number)",
  "earliest_finish(x.id)",
  "finished_statuses()",
  "first_lane()",
  "hand_channel(x.text, x.text)",
  "has_wide_number(x.json)",
  "heartbeat_interval()",
  "index_pages_read()",
  "inline_payload(x.json, x.number)",
  "is_alive(x.worker, x.at)",
  "is_costly(x.lane, x.number)",
  "is_key(x.text)",
  "is_long_ref(x.text)",
  "is_time(x.at)",
  "is_type(x.text)",
  "is_worker_id(x.text)",
  "key_of_wrong_kind(x.json)",
  "key_retention()",
  "lane_after(x.lane)",
  "lane_distance(x.lane, x.lane)",
  "lane_of(x.id)",
  "last_lane()",
  "live_statuses()",
  "lowest_priority()",
  "many_lanes_lifetime()",
  "may_be_large(x.json, x.json, array[x.text], x.json)",
  "may_start(x.queued, x.id, x.at)",
  "missed_after()",
  "most_binary_bytes()",
  "most_types_of_a_claim()",
  "most_types_shown()",
  "ms_between(x.at, x.at)",
  "new_job(p_type => x.text)",
  "new_job(p_ord => x.number, p_id => jobforge.new_id(), p_type => x.text, p_payload => coalesce(x.json, x.json -> 'a'))",
  "now()",
  "one_of(jobforge.dedupe_modes())",
  "preset_names()",
  "problem_with(x.job, x.at)",
  "queued_state(x.at, x.at)",
  "random_lane()",
  "rank_of(x.number, x.number)",
  "reason(x.text, x.text, x.flag, x.number)",
  "registration_lifetime()",
  "registration_renewal()",
  "run_document(x.id, x.id, x.text, x.json, x.number, x.number, x.number, x.at, x.at, x.id, x.at, x.text, x.text, array[x.text], x.json, x.id)",
  "run_end(p_id => x.id, p_status => 'deferred', p_run_at => x.at)",
  "run_end(p_id => x.id, p_status => x.text, p_result => case when jobforge.unprintable(x.json) is null then x.json end)",
  "shelf_for(x.number)",
  "text_bytes(x.json)",
  "time_of(x.id)",
  "timeout_grace()",
  "unprintable(x.json)",
  "unregistered_lease()",
  "uuid_or_null(x.text)",
  "verdict(x.text, x.flag, x.flag, x.flag, x.flag, x.number)",
  "worker_timeout()",
];

test("Postgres inlines every function that only names an expression", async ({ db }) => {
  const called: string[] = [];
  for (const call of calls) if (await isCalled(db, call)) called.push(call);
  expect(called).toEqual([]);
});

test("a function that reads a table is called, so the test above can fail", async ({ db }) => {
  expect(await isCalled(db, "is_paused(x.text, x.text, x.at)")).toBe(true);
});

/** Whether a plan has the call itself, not the expression in its place. */
async function isCalled(db: Sql, call: string): Promise<boolean> {
  const name = call.slice(0, call.indexOf("("));
  return new RegExp(`\\b${name}\\(`).test(await plannedAs(db, call));
}

/** The expression that a plan has for a call. */
async function plannedAs(db: Sql, call: string): Promise<string> {
  const [explained] = await db.value<{ Plan: { Output: string[] } }[]>(
    `explain (verbose, costs off, format json)
     select jobforge.${call}
     from (
       select r.* from (values
         (null::uuid, null::text, null::integer, null::bigint, null::boolean, null::timestamptz, null::jsonb,
           null::jobforge.new_job, null::jobforge.queue, null::bytea, null::jobforge.workers)
       ) r(id, text, number, lane, flag, at, json, job, queued, bytes, worker)
       offset 0
     ) x`,
  );
  return explained?.Plan.Output.join(", ") ?? "";
}
