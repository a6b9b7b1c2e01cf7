/** The SDK's lists of words are those of the kernel. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptStatuses,
  dedupeModes,
  gateScopes,
  jobEndReasons,
  jobStatuses,
  limitScopes,
  missedModes,
  overlapModes,
  retryPresetNames,
  scheduleKinds,
  tokenRoles,
  typePattern,
} from "../src/words.ts";

test.for([
  ["job statuses", jobStatuses, "live_statuses() || jobforge.finished_statuses()"],
  ["dedupe modes", dedupeModes, "dedupe_modes()"],
  ["retry presets", retryPresetNames, "preset_names()"],
] as const)("%s are those of the kernel's function", async ([, words, call], { db }) => {
  expect(await db.value(`select jobforge.${call}`)).toEqual(words);
});

test.for([
  ["finish_reason", jobEndReasons],
  ["gate_scope", gateScopes],
  ["limit_scope", limitScopes],
  ["missed_rule", missedModes],
  ["overlap_rule", overlapModes],
  ["schedule_kind", scheduleKinds],
  ["token_role", tokenRoles],
  // A running attempt has no row, and a canceled one is recorded with the job.
  ["run_status", attemptStatuses.filter((status) => status !== "running" && status !== "canceled")],
] as const)("the domain %s allows exactly the SDK's words", async ([domain, words], { db }) => {
  const allowed = await db.value<string[]>(
    `select array_agg(m[1]) from pg_constraint c
     cross join lateral regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_]+)''', 'g') m
     where c.contypid = $1::regtype`,
    [`jobforge.${domain}`],
  );
  expect(allowed?.toSorted()).toEqual([...words].toSorted());
});

test("the kernel and the SDK accept the same names of types", async ({ db }) => {
  const characters = Array.from({ length: 0x17f }, (_, index) => String.fromCharCode(index + 1));
  const names = characters.flatMap((each) => [each, `a${each}`, `a${each}b`]);
  await db.query(`create function fits(text) returns boolean language plpgsql as $$
    begin perform $1::jobforge.type_name; return true; exception when check_violation then return false; end $$`);
  const rows = await db.query<{ name: string; type: boolean; stored: boolean }>(
    "select n.name, jobforge.is_type(n.name) as type, fits(n.name) as stored from unnest($1::text[]) n(name)",
    [names],
  );
  expect(rows).toEqual(
    names.map((name) => ({
      name,
      type: typePattern.test(name),
      stored: name === "*" || typePattern.test(name),
    })),
  );
});
