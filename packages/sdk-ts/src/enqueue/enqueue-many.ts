/** Enqueues many jobs in few calls. Calls are split by number and size; the outcomes are in the order of the input. */
import { requireObject } from "../arguments/values.ts";
import type { EnqueueOptions, JobDefinition, JobInput } from "../define/definition.ts";
import { InvalidArgumentError, JobForgeError } from "../errors.ts";
import { JsonText } from "../json.ts";
import type { Transport } from "../transport/transport.ts";
import type { EnqueueOutcome } from "../words.ts";
import { jobJson, type PreparedJob, prepareJob } from "./prepare.ts";

/** One of many jobs to enqueue: its definition and input, and options of its own. */
export type NewJob<D extends JobDefinition = JobDefinition> = {
  readonly job: D;
  readonly input: JobInput<D>;
} & Partial<EnqueueOptions>;

export type BulkOutcome =
  | { readonly id: string; readonly outcome: EnqueueOutcome }
  | { readonly id: null; readonly outcome: "rejected" };

export const maxJobs = 5000;
/** Servers accept requests of 8 MiB. Names, commas and the other arguments count as well. */
export const maxBytes: number = 7 * 1024 * 1024;

/**
 * Checks all jobs before the first is sent. The error of the first mistake names its job, such as `jobs[3].payload`.
 * Returns a promise only if a schema does.
 */
export function prepareJobs(
  jobs: readonly NewJob[],
  shared: Partial<EnqueueOptions>,
): PreparedJob[] | Promise<PreparedJob[]> {
  if (!Array.isArray(jobs))
    throw new InvalidArgumentError("jobs must be an array", {
      field: "jobs",
      hint: "Pass [{ job, input, … }, …].",
    });
  const found: (PreparedJob | Promise<PreparedJob>)[] = [];
  let waits = false;
  for (const [index, each] of (jobs as readonly NewJob[]).entries()) {
    const one = prepareOne(each, shared, index);
    waits ||= one instanceof Promise;
    found.push(one);
  }
  return waits ? Promise.all(found) : (found as PreparedJob[]);
}

/** Checks the job at an index of the caller's list. */
export function prepareOne(
  each: NewJob,
  shared: Partial<EnqueueOptions>,
  index: number,
): PreparedJob | Promise<PreparedJob> {
  const { job, input, ...own } = requireObject(each, `jobs[${index}]`, "Pass { job, input, … }.");
  if ("payload" in own)
    throw new InvalidArgumentError(`Invalid argument: jobs[${index}].payload is not a known option`, {
      field: `jobs[${index}].payload`,
      hint: "Did you mean input? Pass { job, input, … }.",
    });
  return prepareJob(job, input, merged(shared, own), `jobs[${index}].`);
}

/** A job's own options over the shared ones. An own option that is undefined does not count. */
function merged(shared: Partial<EnqueueOptions>, own: Partial<EnqueueOptions>): EnqueueOptions {
  const options: Record<string, unknown> = { ...shared };
  for (const [name, value] of Object.entries(own)) if (value !== undefined) options[name] = value;
  // prepareJob checks that one of the two has a tenant.
  return options as unknown as EnqueueOptions;
}

interface Chunk {
  readonly tenantId: string;
  readonly texts: string[];
  /** The index of each job in the caller's list. */
  readonly places: number[];
  bytes: number;
}

/**
 * Enqueues prepared jobs. If several calls are needed, a transport with transactions makes them in one, so that all
 * jobs are enqueued or none. With `partial`, jobs that quotas have no room for are rejected and the others are
 * enqueued. `first` is the index of the first job in the caller's list.
 */
export async function enqueuePrepared(
  transport: Transport,
  jobs: readonly PreparedJob[],
  partial: boolean,
  first = 0,
): Promise<BulkOutcome[]> {
  const chunks = cut(jobs, first);
  const outcomes: BulkOutcome[] = new Array(jobs.length);
  const send = async (through: Transport, chunk: Chunk): Promise<void> => {
    const sent = await sendChunk(through, chunk, partial);
    for (const [index, place] of chunk.places.entries()) {
      const outcome = sent[index];
      if (outcome !== undefined) outcomes[place - first] = outcome;
    }
  };
  const oneByOne = async (through: Transport): Promise<void> => {
    for (const chunk of chunks) await send(through, chunk);
  };
  // In the caller's transaction, all calls are sent before the caller can end the transaction.
  if (transport.isTransaction) await Promise.all(chunks.map((chunk) => send(transport, chunk)));
  else if (chunks.length > 1 && transport.transaction !== undefined)
    await transport.transaction((_, inside) => oneByOne(inside));
  else await oneByOne(transport);
  return outcomes;
}

/** Splits jobs into calls. The kernel requires one tenant per call. */
function cut(jobs: readonly PreparedJob[], first: number): Chunk[] {
  const chunks: Chunk[] = [];
  const open = new Map<string, Chunk>();
  for (const [place, job] of jobs.entries()) {
    const { text } = jobJson(job);
    const bytes = Buffer.byteLength(text);
    let chunk = open.get(job.tenantId);
    if (chunk === undefined || chunk.texts.length === maxJobs || chunk.bytes + bytes > maxBytes) {
      chunk = { tenantId: job.tenantId, texts: [], places: [], bytes: 0 };
      chunks.push(chunk);
      open.set(job.tenantId, chunk);
    }
    chunk.texts.push(text);
    chunk.places.push(first + place);
    chunk.bytes += bytes;
  }
  return chunks;
}

async function sendChunk(transport: Transport, chunk: Chunk, partial: boolean): Promise<BulkOutcome[]> {
  try {
    return await transport.call<BulkOutcome[]>("jobforge_enqueue_jobs", {
      p_tenant_id: chunk.tenantId,
      p_jobs: new JsonText(`[${chunk.texts.join()}]`),
      p_partial: partial ? true : undefined,
    });
  } catch (error) {
    throw error instanceof JobForgeError ? renumbered(error, chunk.places) : error;
  }
}

/** The error with the job's index in the caller's list instead of its index in the call. */
function renumbered(error: JobForgeError, places: readonly number[]): JobForgeError {
  const place = places[Number(/^jobs\[(\d+)\]/.exec(error.field ?? "")?.[1])];
  if (place === undefined) return error;
  const Same = error.constructor as new (message: string, details: object) => JobForgeError;
  const message = error.message.replace(/\bjob \d+/, `job ${place}`).replace(/jobs\[\d+\]/, `jobs[${place}]`);
  const { code, kind, hint, retryable } = error;
  const field = error.field?.replace(/^jobs\[\d+\]/, `jobs[${place}]`);
  return new Same(message, { code, kind, hint, retryable, field, cause: error.cause });
}
