/** The job of a chaos run on Redis. */
import { defineJob } from "@jobforge/sdk-ts";
import { z } from "zod";

export const handledJob = defineJob({
  type: "chaos",
  input: z.object({ workMs: z.number(), fails: z.number() }),
  // More attempts than faults can cost a job.
  retry: { baseMs: 50, factor: 1, maxAttempts: 25 },
});
