/**
 * Which run the code at hand belongs to. The interfaces of queues name no parent when a stage enqueues, and the call alone does not tell:
 * other code may enqueue for the same call meanwhile. What is executed in the course of a claim does.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { HeldJobs, Hold } from "./held.ts";
import type { QueueJob } from "./processing.ts";

/** A hold that knows its job and what its run has enqueued. */
export interface StageHold extends Hold {
  readonly job: QueueJob;
  /** How many jobs of each stage its run has enqueued. */
  readonly enqueued: Map<string, number>;
  deferredBySeconds?: number;
}

/** A claim and what follows it. */
interface Course<H> {
  /** Undefined while the claim is under way, null when there was nothing. */
  hold: H | null | undefined;
  /** The claim before it, of a program that claims several and then runs them. */
  readonly before: Course<H> | undefined;
}

/** A key that names a job by the run that enqueues it, and the way back when that failed. */
export interface ChildKey {
  readonly key: string;
  giveBack(): void;
}

export class Courses<H extends StageHold> {
  readonly #held: HeldJobs<H>;
  readonly #current = new AsyncLocalStorage<Course<H>>();

  constructor(held: HeldJobs<H>) {
    this.#held = held;
  }

  /** Claims, and begins a course. To be called before anything is waited for: only then does it reach the code that waits for the claim. */
  async claim(work: () => Promise<H | null>): Promise<QueueJob | null> {
    let before = this.#current.getStore();
    // What has ended is forgotten, or a loop would remember everything.
    while (before !== undefined && this.#hasEnded(before)) before = before.before;
    const course: Course<H> = { hold: undefined, before };
    this.#current.enterWith(course);
    try {
      course.hold = await work();
    } finally {
      course.hold ??= null;
    }
    if (course.hold === null) return null;
    this.#held.add(course.hold.job.id, course.hold);
    return course.hold.job;
  }

  /** The run that enqueues this job: the last of those in whose course we are that is of the same call and has not ended. */
  parentOf({ org_id, call_id }: Omit<QueueJob, "id" | "attempts">): H | undefined {
    for (let course = this.#current.getStore(); course !== undefined; course = course.before) {
      const { hold } = course;
      const isOfCall = hold?.job.org_id === org_id && hold.job.call_id === call_id;
      if (isOfCall && !this.#hasEnded(course)) return hold;
    }
    return undefined;
  }

  #hasEnded({ hold }: Course<H>): boolean {
    return hold === null || (hold !== undefined && !this.#held.has(hold.job.id, hold));
  }
}

/** The key of the n-th job of a stage that a run enqueues, counted when it is asked for: a run may enqueue several at once. */
export function childKey({ job, enqueued }: StageHold, stage: string): ChildKey {
  const place = enqueued.get(stage) ?? 0;
  enqueued.set(stage, place + 1);
  return {
    key: `${job.id}:${stage}:${place}`,
    // The stage may try again by itself, and whether the first try took effect may be unknown.
    giveBack: () => void (enqueued.get(stage) === place + 1 && enqueued.set(stage, place)),
  };
}
