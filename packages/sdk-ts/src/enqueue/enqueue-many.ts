/** Many jobs in few calls: cut by number and size, with one outcome per job in the order of the input. */
import type { EnqueueOptions, JobDefinition, JobInput } from "../define/definition.ts";
import { InvalidArgumentError, JobForgeError } from "../errors.ts";
import { JsonText } from "../json.ts";
import type { Transport } from "../transport/transport.ts";
import type { EnqueueOutcome } from "../words.ts";
import { jobJson, type PreparedJob, prepareJob } from "./prepare.ts";

/** One of many jobs to enqueue: its definition and input, and what it has of its own of the options. */
export type NewJob<D extends JobDefinition = JobDefinition> = {
  readonly job: D;
  readonly input: JobInput<D>;
} & Partial<EnqueueOptions>;

export type BulkOutcome =
  | { readonly id: string; readonly outcome: EnqueueOutcome }
  | { readonly id: null; readonly outcome: "rejected" };

const mostJobs = 5000;
/** Servers take requests of 8 MiB; names, commas and the other arguments count as well. */
const mostBytes = 7 * 1024 * 1024;

/** Checks all jobs before the first is sent. Fails with the first mistake, which names its job, such as `jobs[3].payload`. */
export async function prepareJobs(
  jobs: readonly NewJob[],
  shared: Partial<EnqueueOptions>,
): Promise<PreparedJob[]> {
  if (!Array.isArray(jobs)) throw new InvalidArgumentError("jobs must be an array", { field: "jobs" });
  const prepared: PreparedJob[] = [];
  for (const [index, { job, input, ...own }] of jobs.entries()) {
    prepared.push(await prepareJob(job, input, merged(shared, own), `jobs[${index}].`));
  }
  return prepared;
}

/** A job's own options, and what is shared where it names none: undefined says nothing. */
function merged(shared: Partial<EnqueueOptions>, own: Partial<EnqueueOptions>): EnqueueOptions {
  const options: Record<string, unknown> = { ...shared };
  for (const [name, value] of Object.entries(own)) if (value !== undefined) options[name] = value;
  // Whether there is a tenant, here or there, is what prepareJob checks.
  return options as unknown as EnqueueOptions;
}

interface Chunk {
  readonly tenantId: string;
  readonly texts: string[];
  /** Where in the caller's list each of them is. */
  readonly places: number[];
  bytes: number;
}

/**
 * Enqueues prepared jobs, all or none when the transport has transactions and more than one call is needed; with `partial`, those that
 * quotas have room for.
 */
export async function enqueuePrepared(
  transport: Transport,
  jobs: readonly PreparedJob[],
  partial: boolean,
): Promise<BulkOutcome[]> {
  const chunks = cut(jobs);
  const outcomes: BulkOutcome[] = new Array(jobs.length);
  const send = async (through: Transport): Promise<void> => {
    for (const chunk of chunks) {
      const sent = await sendChunk(through, chunk, partial);
      for (const [index, place] of chunk.places.entries()) {
        const outcome = sent[index];
        if (outcome !== undefined) outcomes[place] = outcome;
      }
    }
  };
  if (chunks.length > 1 && transport.transaction !== undefined)
    await transport.transaction((_, inside) => send(inside));
  else await send(transport);
  return outcomes;
}

/** One tenant per call is the kernel's rule. */
function cut(jobs: readonly PreparedJob[]): Chunk[] {
  const chunks: Chunk[] = [];
  const open = new Map<string, Chunk>();
  for (const [place, job] of jobs.entries()) {
    const { text } = jobJson(job);
    const bytes = Buffer.byteLength(text);
    let chunk = open.get(job.tenantId);
    if (chunk === undefined || chunk.texts.length === mostJobs || chunk.bytes + bytes > mostBytes) {
      chunk = { tenantId: job.tenantId, texts: [], places: [], bytes: 0 };
      chunks.push(chunk);
      open.set(job.tenantId, chunk);
    }
    chunk.texts.push(text);
    chunk.places.push(place);
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

/** The error with the job's place in the caller's list instead of that in the call. */
function renumbered(error: JobForgeError, places: readonly number[]): JobForgeError {
  const place = places[Number(/^jobs\[(\d+)\]/.exec(error.field ?? "")?.[1])];
  if (place === undefined) return error;
  const Same = error.constructor as new (message: string, details: object) => JobForgeError;
  const message = error.message.replace(/\bjob \d+/, `job ${place}`).replace(/jobs\[\d+\]/, `jobs[${place}]`);
  const { code, kind, hint, retryable } = error;
  const field = error.field?.replace(/^jobs\[\d+\]/, `jobs[${place}]`);
  return new Same(message, { code, kind, hint, retryable, field, cause: error.cause });
}
