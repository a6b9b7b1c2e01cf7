/**
 * Which run enqueues a job. A repeated stage must not enqueue the next stage twice, so the jobs that a run enqueues have idempotency keys
 * made from the run's own job. The caller names that job as `parent`. Without a parent, the queue guesses it from the jobs it holds.
 */
import { JobNotHeldError } from "../errors.ts";
import type { HeldJobs, Hold } from "./held.ts";
import type { NewQueueJob, QueueJob } from "./processing.ts";

/** A hold that knows its job and what its run has enqueued. */
export interface StageHold extends Hold {
  readonly job: QueueJob;
  /** How many jobs the run has enqueued, by the part of their key that is in front of the number. */
  readonly enqueued: Map<string, number>;
  deferredBySeconds?: number;
}

/** The run that enqueues a job, and whether the caller named it. */
export interface Parent<H> {
  readonly hold: H;
  readonly isNamed: boolean;
}

/** A key that names a job by the run that enqueues it. */
export interface ChildKey {
  readonly key: string;
  /** Lets the run use the key again, after an enqueue that failed. */
  giveBack(): void;
}

/**
 * The run that enqueues `job`. A named parent must be held: the run of a job that was completed, or claimed again since, is refused with
 * a JobNotHeldError. Without a parent, it is the only held job of the same call, if there is exactly one.
 */
export function parentOf<H extends StageHold>(
  held: HeldJobs<H>,
  job: NewQueueJob,
  parent: QueueJob | undefined,
): Parent<H> | undefined {
  if (parent !== undefined) {
    const hold = held.get(parent.id);
    if (hold.job.attempts !== parent.attempts)
      throw new JobNotHeldError(`Job ${parent.id} has been claimed again since this run of it`, {
        field: "parent",
        hint: "Stop this run: it has lost its lease, and another run of the job does its work.",
      });
    return { hold, isNamed: true };
  }
  const ofCall = [...held.values()].filter(
    (hold) => hold.job.org_id === job.org_id && hold.job.call_id === job.call_id,
  );
  const [only] = ofCall;
  return only !== undefined && ofCall.length === 1 ? { hold: only, isNamed: false } : undefined;
}

/**
 * The key of the n-th job of a stage that a run enqueues. It is counted when this is called, because a run may enqueue several at once.
 * Jobs with a named parent are counted apart from those with a guessed one: other code may enqueue for the same call without naming a
 * parent, and must not use up the keys of the stage.
 */
export function childKey({ hold, isNamed }: Parent<StageHold>, stage: string): ChildKey {
  const { job, enqueued } = hold;
  const prefix = isNamed ? `${job.id}:${stage}` : `${job.id}:guessed:${stage}`;
  const place = enqueued.get(prefix) ?? 0;
  enqueued.set(prefix, place + 1);
  return {
    key: `${prefix}:${place}`,
    // The stage may try again by itself, and whether the failed enqueue took effect may be unknown.
    giveBack: () => {
      if (enqueued.get(prefix) === place + 1) enqueued.set(prefix, place);
    },
  };
}
