/** Large calls of enqueueMany: their pipelines overlap, and their jobs keep their order. */
import { defineJob } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { T, test } from "./support/work.ts";

const plain = defineJob({ type: "plain" });

test("the jobs of large calls wait in the order of their enqueue", async ({ forge }) => {
  const ids: string[] = [];
  // The first call loads the scripts of BullMQ, and the pipelines of the second one overlap.
  for (let call = 0; call < 2; call += 1) {
    const jobs = Array.from({ length: 900 }, () => ({ job: plain, input: {} }));
    const handles = await forge.enqueueMany(jobs, { tenantId: T });
    ids.push(...handles.map(({ id }) => id));
  }
  expect(ids.toSorted()).toEqual(ids);
  const { store } = forge.queues.of("plain", T);
  const [waiting] = (await store.getRanges(["prioritized"], 0, -1, true)) as unknown as string[][];
  expect(waiting).toEqual(ids);
});
