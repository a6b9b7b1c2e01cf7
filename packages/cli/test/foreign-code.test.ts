/** The commands use no name that the search path of a login could redirect. */
import { expect } from "vitest";
import { plantTraps } from "../../../test/planting.ts";
import { run, T, test } from "./support.ts";

test("commands run into no trap in place of the names that statements use", async ({ db }) => {
  const id = (await db.value<{ id: string }>("select jobforge_enqueue_job($1, 'mail')", [T])).id;
  const traps = await plantTraps(db);
  for (const args of [
    ["migrate"],
    ["doctor"],
    ["jobs", "show", id],
    ["jobs", "list"],
    ["stats"],
    ["types"],
    ["workers"],
    ["schedules", "list"],
  ]) {
    const { stderr } = await run(args, { DATABASE_URL: db.url });
    expect(stderr, args.join(" ")).toBe("");
  }
  expect(await traps.caught()).toBeUndefined();
});
