/** Enqueues the jobs of an iterable with little memory: in parts, two at a time, each with its own commit. */

import type { Artifacts } from "../artifacts/artifacts.ts";
import type { EnqueueOptions } from "../define/definition.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Transport } from "../transport/transport.ts";
import {
  type BulkOutcome,
  enqueuePrepared,
  maxBytes,
  maxJobs,
  type NewJob,
  prepareOne,
} from "./enqueue-many.ts";
import { offloadAll } from "./offload.ts";
import type { PreparedJob } from "./prepare.ts";

/** How many jobs had each outcome. */
export interface BulkCounts {
  readonly enqueued: number;
  readonly created: number;
  readonly existing: number;
  readonly replaced: number;
}

export interface StreamOptions extends Partial<EnqueueOptions> {
  /** Called after each commit, with the numbers so far. An error that it throws stops the call. */
  readonly onProgress?: ((counts: BulkCounts) => void) | undefined;
}

/** The server works on one part while the next one is written and sent. */
const partsUnderWay = 2;

/** The jobs of one commit, and the place of the first in the stream. */
interface Part {
  readonly jobs: PreparedJob[];
  readonly first: number;
  bytes: number;
}

export async function enqueueStream(
  transport: Transport,
  artifacts: Artifacts,
  jobs: Iterable<NewJob> | AsyncIterable<NewJob>,
  options: StreamOptions,
): Promise<BulkCounts> {
  const { onProgress, ...shared } = options;
  checkOptions(jobs, onProgress);
  const counts = { enqueued: 0, created: 0, existing: 0, replaced: 0 };
  const underWay = new Set<Promise<void>>();
  const start = (part: Part): void => {
    const sent = enqueuePrepared(transport, part.jobs, false, part.first).then((outcomes) => {
      underWay.delete(sent);
      count(counts, outcomes);
      onProgress?.({ ...counts });
    });
    underWay.add(sent);
    // The call rejects with this error a little later. Without a handler, it would end the process before that.
    sent.catch(() => undefined);
  };
  // In a transaction of the caller there is one connection, and a part would wait there for the one before.
  const most = transport.isTransaction ? 1 : partsUnderWay;
  try {
    for await (const part of partsOf(artifacts, jobs, shared)) {
      while (underWay.size >= most) await Promise.race(underWay);
      start(part);
    }
    await Promise.all(underWay);
  } finally {
    await Promise.allSettled(underWay);
  }
  return counts;
}

function checkOptions(jobs: unknown, onProgress: unknown): void {
  if (typeof jobs !== "object" || jobs === null || !(Symbol.iterator in jobs || Symbol.asyncIterator in jobs))
    throw new InvalidArgumentError("Invalid argument: jobs must be an iterable", {
      field: "jobs",
      hint: "Pass an array, or a generator that yields { job, input, … }.",
    });
  if (onProgress !== undefined && typeof onProgress !== "function")
    throw new InvalidArgumentError("Invalid argument: onProgress must be a function", {
      field: "onProgress",
    });
}

/** Cuts a stream into parts by number and size. Reads no further than the part that it yields. */
async function* partsOf(
  artifacts: Artifacts,
  jobs: Iterable<NewJob> | AsyncIterable<NewJob>,
  shared: Partial<EnqueueOptions>,
): AsyncGenerator<Part> {
  let part: Part = { jobs: [], first: 0, bytes: 0 };
  let place = 0;
  for await (const each of jobs) {
    const ready = prepareOne(each, shared, place);
    const checked = ready instanceof Promise ? await ready : ready;
    const [job = checked] = checked.offload ? await offloadAll(artifacts, [checked]) : [];
    const bytes = job.payload.text.length;
    if (part.jobs.length === maxJobs || (part.jobs.length > 0 && part.bytes + bytes > maxBytes)) {
      yield part;
      part = { jobs: [], first: place, bytes: 0 };
    }
    part.jobs.push(job);
    part.bytes += bytes;
    place++;
  }
  if (part.jobs.length > 0) yield part;
}

function count(
  counts: { -readonly [K in keyof BulkCounts]: number },
  outcomes: readonly BulkOutcome[],
): void {
  for (const { outcome } of outcomes) {
    if (outcome === "rejected") continue;
    counts.enqueued++;
    counts[outcome]++;
  }
}
