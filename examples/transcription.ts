/**
 * A pipeline that transcribes calls in four stages. The poll of the speech service occupies no worker while it waits.
 * The stages know the interface `JobQueue` of their design only, so the same code runs on any implementation of it.
 */
import {
  JobForge,
  JobForgeJobQueue,
  MemoryJobQueue,
  type QueueJob,
  type StageQueue,
  workerLoop,
} from "jobforge";

const orgId = "a0000000-0000-4000-8000-000000000004";
const callId = "b0000000-0000-4000-8000-000000000001";
const call = { org_id: orgId, call_id: callId };
const mostPolls = 50;

/** What the stages leave behind, at paths that follow from the call: a stage that runs twice writes the same. */
class Storage {
  readonly files = new Set(["raw/call.wav"]);
  polls = 0;

  /** Makes a file, unless an earlier run has made it, and then removes what it was made from. */
  make(path: string, from?: string): void {
    this.files.add(path);
    if (from !== undefined) this.files.delete(from);
  }
}

function stagesOn(queue: StageQueue, storage: Storage) {
  const next = (job: QueueJob, stage: QueueJob["stage"], payload: Record<string, unknown>, attempts = 5) =>
    queue.enqueue({ ...call, stage, payload, max_attempts: attempts }, { parent: job });
  return async (job: QueueJob): Promise<void> => {
    switch (job.stage) {
      case "extract_audio":
        storage.make("audio/call.ogg", "raw/call.wav");
        return await next(job, "transcribe_start", { audio: "audio/call.ogg" });
      case "transcribe_start":
        return await next(job, "transcribe_poll", { operationId: "op-1" }, mostPolls);
      case "transcribe_poll":
        storage.polls += 1;
        // Not ready yet. The interval is zero here; a real one is several seconds.
        if (storage.polls < 3) return await queue.defer(job.id, 0);
        storage.make("transcript/call.json", "audio/call.ogg");
        return await next(job, "analyze", { transcript: "transcript/call.json" });
      case "analyze":
        storage.make("analysis/call.json");
    }
  };
}

async function transcribe(queue: StageQueue): Promise<void> {
  const storage = new Storage();
  const done = new AbortController();
  const run = stagesOn(queue, storage);
  await queue.enqueue({ ...call, stage: "extract_audio", payload: {}, max_attempts: 5 });
  await workerLoop(queue, "worker-1", {
    signal: done.signal,
    runStage: async (job) => {
      await run(job);
      if (job.stage === "analyze") done.abort();
    },
  });
  console.log(storage.polls, [...storage.files].join(" "));
}

await transcribe(new MemoryJobQueue()); // → 3 transcript/call.json analysis/call.json

const forge = new JobForge({ database: process.env["DATABASE_URL"] });
await transcribe(new JobForgeJobQueue(forge)); // → 3 transcript/call.json analysis/call.json
for await (const { type, status, attempts } of forge.list({ tenantId: orgId, subject: callId }))
  console.log(type, status, attempts);
// → analyze succeeded 1
// → transcribe_poll succeeded 3
// → transcribe_start succeeded 1
// → extract_audio succeeded 1
await forge.close();
