/** Job definitions that several tests use. */
import * as v from "valibot";
import { z } from "zod";
import { defineJob, typed } from "../../src/index.ts";

export const sendMail = defineJob({
  type: "mail.send",
  input: z.object({ to: z.email(), subject: z.string(), at: z.coerce.date().optional() }),
  output: z.object({ messageId: z.string() }),
  retry: "gentle",
  tags: ["mail"],
  subject: (input) => `to:${input.to}`,
});

export const countWords = defineJob({
  type: "words.count",
  input: v.object({ text: v.string() }),
  output: v.pipe(
    v.object({ words: v.number() }),
    v.transform(({ words }) => words),
  ),
  dedupe: (input) => input.text,
  priority: 3,
});

export const cleanUp = defineJob({ type: "clean.up" });

export const resize = defineJob({ type: "image.resize", input: typed<{ width: number }>() });
