/**
 * Random cron expressions, zones and instants. JOBFORGE_CRON_CASES sets their number, JOBFORGE_CRON_SEED the seed. Only
 * time zones are used for which Node and Postgres have the same data.
 */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { type CronCase, randomExpression, randomInstant, randomNonsense } from "../support/cron-cases.ts";
import { expectedNext, namesEveryHour, readCron } from "../support/cron-oracle.ts";
import { agreedZones, oddZones, spansOf } from "../support/cron-zones.ts";
import type { Sql } from "../support/kernel.ts";
import { type Random, randomFrom } from "../support/random.ts";

const cases = Number(process.env["JOBFORGE_CRON_CASES"] ?? 5000);
const seed = Number(process.env["JOBFORGE_CRON_SEED"] ?? 1);
const timeout = 60_000 + cases * 20;

/** Returns the odd zones, and a number of others that depends on the number of cases. */
async function chooseZones(db: Sql, random: Random): Promise<string[]> {
  const others = random.some(Intl.supportedValuesOf("timeZone"), Math.ceil(cases / 300));
  const zones = [...new Set([...oddZones, ...others])];
  const agreed = await agreedZones(db, zones);
  expect(agreed.length, "zones for which Node and Postgres have the same data").toBeGreaterThan(
    zones.length / 2,
  );
  return agreed;
}

function randomCase(random: Random, zones: readonly string[]): CronCase {
  const zone = random.pick(zones);
  return { expression: randomExpression(random), zone, after: randomInstant(random, zone) };
}

/** Returns the kernel's next runs in milliseconds, or null for a refusal. Each call has a thousand cases. */
async function nextRuns(db: Sql, asked: readonly CronCase[]): Promise<(number | null)[]> {
  await db.query(`
    create or replace function pg_temp.next_or_null(p_expression text, p_zone text, p_after timestamptz) returns timestamptz
    language plpgsql as $$
    begin
      return jobforge_cron_next(p_expression, p_zone, p_after);
    exception when sqlstate 'JF009' then
      return null;
    end $$`);
  const found: (number | null)[] = [];
  for (let from = 0; from < asked.length; from += 1000) {
    const rows = await db.query<{ next: Date | null }>(
      `select pg_temp.next_or_null(c ->> 0, c ->> 1, to_timestamp((c ->> 2)::bigint / 1000.0)) as next
       from jsonb_array_elements($1) with ordinality x(c, n) order by n`,
      [
        JSON.stringify(
          asked.slice(from, from + 1000).map((each) => [each.expression, each.zone, each.after]),
        ),
      ],
    );
    found.push(...rows.map(({ next }) => next?.getTime() ?? null));
  }
  return found;
}

const time = (at: number | null | undefined): string =>
  at === null || at === undefined ? "never" : new Date(at).toISOString();

/**
 * Returns whether croner must give the same result. Its rule for clock changes is different, so either every hour is
 * named or no change is near.
 */
function isComparable({ expression, zone, after }: CronCase, until: number): boolean {
  if (namesEveryHour(expression)) return true;
  return !spansOf(zone).some(({ to }) => to > after - 86_400_000 && to <= until + 86_400_000);
}

/** Returns how croner's result differs, or undefined if it does not. */
function objection(asked: CronCase, got: number | null): string | undefined {
  const cron = readCron(asked.expression, asked.zone);
  const next = cron.nextRun(new Date(asked.after))?.getTime() ?? null;
  if (next === got) return undefined;
  if (next === null || got === null) return `croner says ${time(next)}`;
  if (!isComparable(asked, next)) return undefined;
  // After searching for 30 February, croner misses 1 March. `match` confirms that the time is right.
  const overlooked = got > asked.after && got < next && cron.match(new Date(got));
  return overlooked ? undefined : `croner says ${time(next)}`;
}

test(`${cases} random expressions run when croner and an independent implementation of the rule say`, {
  timeout,
}, async ({ db }) => {
  const random = randomFrom(seed);
  const zones = await chooseZones(db, random);
  const asked = Array.from({ length: cases }, () => randomCase(random, zones));
  const got = await nextRuns(db, asked);
  const wrong = asked.flatMap((each, n) => {
    const answer = got[n] ?? null;
    const wanted = answer === null ? undefined : expectedNext(each);
    const reason =
      wanted !== undefined && wanted !== answer ? `the rule says ${time(wanted)}` : objection(each, answer);
    if (reason === undefined) return [];
    return [`${each.expression} in ${each.zone} after ${time(each.after)}: ${time(answer)}, but ${reason}`];
  });
  expect(wrong.slice(0, 10), `${wrong.length} are wrong, seed ${seed}`).toEqual([]);
});

test("random nonsense that is accepted means the same to croner", { timeout }, async ({ db }) => {
  const random = randomFrom(seed);
  const asked = Array.from({ length: cases }, () => ({
    expression: randomNonsense(random),
    zone: "UTC",
    after: Date.UTC(2026, 0, 31, 12),
  }));
  const got = await nextRuns(db, asked);
  const accepted = asked.flatMap((each, n) => {
    const answer = got[n] ?? null;
    return answer === null ? [] : [[each.expression, time(answer)]];
  });
  expect(accepted.length).toBeGreaterThan(cases / 100);
  const nextOf = (expression: string | undefined): string => {
    try {
      return time(
        readCron(expression ?? "", "UTC")
          .nextRun(new Date(Date.UTC(2026, 0, 31, 12)))
          ?.getTime(),
      );
    } catch (error) {
      return String(error);
    }
  };
  expect(accepted).toEqual(accepted.map(([expression]) => [expression, nextOf(expression)]));
});
