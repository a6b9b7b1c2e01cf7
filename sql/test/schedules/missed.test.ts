/** The last due time in the past, found without enumerating all due times: compared with an enumeration. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { randomExpression } from "../support/cron-cases.ts";
import { randomFrom } from "../support/random.ts";

const firstSlot = "2027-03-01T10:30:00Z";

/** Expressions with bursts, with long gaps, and typical ones. */
const expressions = [
  "* * * * * *",
  "* * 0 * * *",
  "*/7 3 * * * *",
  "0 9 * * 1-5",
  "0 0 29 2 *",
  "0 0 1,L * *",
  "30 2 * * *",
];

test("the last due time is the one that an enumeration from the first finds", async ({ db }) => {
  const random = randomFrom(7);
  const cases = [...expressions, ...Array.from({ length: 60 }, () => randomExpression(random))];
  let compared = 0;
  for (const expression of cases) {
    const walk = await db
      .query<{ at: Date }>("select at from jobforge_cron_runs($1, 'Europe/Berlin', $2, 300) at", [
        expression,
        firstSlot,
      ])
      // Some of the random expressions never run.
      .catch(() => []);
    for (const n of [0, 1, 2, 50, 298].filter((place) => place + 1 < walk.length)) {
      const [last, next] = [walk[n]?.at, walk[n + 1]?.at];
      const between = new Date((Number(last) + Number(next)) / 2);
      for (const until of [last, between]) {
        const found = await db.value<Date>(
          "select jobforge.last_cron_due(jobforge.read_cron($1), 'Europe/Berlin', $2, $3)",
          [expression, firstSlot, until],
        );
        expect(found, `${expression} until ${until?.toISOString()}`).toEqual(last);
        compared += 1;
      }
    }
  }
  expect(compared).toBeGreaterThan(300);
});
