/** The types of inputs, handles and results follow from the definition, as they do with `JobForge`. */
import { defineJob } from "@jobforge/sdk-ts";
import { expect, expectTypeOf } from "vitest";
import { z } from "zod";
import { makeWorker, T, test } from "./support/work.ts";

const add = defineJob({
  type: "add",
  input: z.object({ a: z.number() }),
  output: z.object({ sum: z.number() }),
});
const shout = defineJob({ type: "shout", input: z.object({ text: z.string() }), output: z.string() });

test("an enqueue takes the input of its definition, and its handle returns the output", async ({ forge }) => {
  const one = await forge.enqueue(add, { a: 1 }, { tenantId: T });
  const [sum, loud] = await forge.enqueueMany(
    [
      { job: add, input: { a: 2 } },
      { job: shout, input: { text: "hey" } },
    ],
    { tenantId: T },
  );
  const handlers = [
    add.handle(async ({ a }) => ({ sum: a + 1 })),
    shout.handle(async ({ text }) => text.toUpperCase()),
  ];
  await makeWorker(forge, { handlers }).tick();
  expectTypeOf(one.result).returns.resolves.toEqualTypeOf<{ sum: number }>();
  expectTypeOf(sum.result).returns.resolves.toEqualTypeOf<{ sum: number }>();
  expectTypeOf(loud.result).returns.resolves.toEqualTypeOf<string>();
  expect([await one.result(), await sum.result(), await loud.result()]).toEqual([
    { sum: 2 },
    { sum: 3 },
    "HEY",
  ]);
  const handle = forge.handle(one.id, { job: add, tenantId: T });
  expectTypeOf(handle.result).returns.resolves.toEqualTypeOf<{ sum: number }>();
  // @ts-expect-error: the input has another type.
  await expect(forge.enqueue(add, { a: "1" }, { tenantId: T })).rejects.toThrow("payload.a");
  // @ts-expect-error: a tenant is required.
  await expect(forge.enqueue(add, { a: 1 }, {})).rejects.toThrow("tenantId");
});
