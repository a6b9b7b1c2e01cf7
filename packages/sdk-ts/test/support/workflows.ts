/** Jobs and a workflow that several tests use: the pipeline of a call. */
import { z } from "zod";
import { defineJob, defineWorkflow, typed } from "../../src/index.ts";

export const extractAudio = defineJob({
  type: "call.audio",
  input: z.object({ callId: z.string() }),
  output: z.object({ path: z.string() }),
});

export const startTranscript = defineJob({
  type: "call.transcribe",
  input: z.object({ callId: z.string(), audio: z.string() }),
  output: z.object({ operationId: z.string(), at: z.coerce.date().optional() }),
  retry: "quick",
  tags: ["speech"],
});

export const analyze = defineJob({
  type: "call.analyze",
  input: z.object({ callId: z.string(), operation: z.string(), note: z.string().optional() }),
  output: typed<{ words: number; parts: { text: string; speaker?: string }[] }>(),
  subject: ({ callId }) => `call:${callId}`,
});

export const measure = defineJob({
  type: "file.measure",
  input: typed<{ file: string; index?: number }>(),
  output: typed<{ bytes: number }>(),
});

export const note = defineJob({ type: "note" });

export const processCall = defineWorkflow({
  name: "call.process",
  version: "3",
  input: z.object({ callId: z.string() }),
  steps: (w, input) => {
    const audio = w.step("audio", extractAudio, { callId: input.callId });
    const op = w.step("transcribe", startTranscript, { callId: input.callId, audio: audio.result.path });
    return w.step(
      "analyze",
      analyze,
      { callId: input.callId, operation: op.result.operationId },
      { delayMs: 10_000, maxAttempts: 50 },
    );
  },
});
