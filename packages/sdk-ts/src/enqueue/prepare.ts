/** Turns a definition, an input and options into arguments of the kernel: checked, and serialized to JSON once. */
import { checkEnqueueOptions, checkType } from "../arguments.ts";
import type { EnqueueOptions, JobDefinition } from "../define/definition.ts";
import { retryOf } from "../define/retry.ts";
import { checkValue } from "../define/schema.ts";
import { InvalidArgumentError } from "../errors.ts";
import { JsonText, toJson } from "../json.ts";
import { toKeys } from "../rows.ts";

export interface PreparedJob {
  readonly tenantId: string;
  readonly type: string;
  readonly payload: JsonText;
  /** The other options, under the kernel's keys without `p_`. */
  readonly keys: Readonly<Record<string, unknown>>;
}

/**
 * Checks a job before it is enqueued. The input is stored as the caller passed it, because the worker applies the
 * schema again, and a transformation must happen only once. `at` is a prefix for the names of fields in errors, such as
 * `jobs[3].`.
 */
export async function prepareJob(
  job: JobDefinition,
  input: unknown,
  options: EnqueueOptions,
  at = "",
): Promise<PreparedJob> {
  // A definition may be an object that defineJob did not create.
  checkType(job?.type, `${at}type`);
  if (input === null || input === undefined) throw noInput(`${at}payload`, String(input));
  // Without a schema there is nothing to await, and one await per job would count for tens of thousands of jobs.
  const checked = job.input === undefined ? input : await checkValue(job.input, input, `${at}payload`);
  const { tenantId, tags, priority, dedupeKey: givenKey, dedupeMode, subject, ...others } = options;
  const dedupeKey = givenKey ?? job.dedupe?.(checked);
  const rest = {
    ...others,
    tags: job.tags === undefined ? tags : [...new Set([...job.tags, ...(tags ?? [])])],
    priority: priority ?? job.priority,
    dedupeKey,
    // The definition's mode is for jobs that have a key.
    dedupeMode: dedupeMode ?? (dedupeKey === undefined ? undefined : job.dedupeMode),
    subject: subject ?? job.subject?.(checked),
  };
  checkEnqueueOptions(rest, tenantId, at);
  const keys = toKeys({ ...rest, defaultAttempts: retryOf(job)?.maxAttempts });
  return { tenantId, type: job.type, payload: payloadJson(input, `${at}payload`), keys };
}

/** A payload as JSON text. A payload that serializes to null, such as NaN or the result of a toJSON(), is refused. */
export function payloadJson(payload: unknown, field: string): JsonText {
  const json = toJson(payload, field);
  if (json.text === "null") throw noInput(field, "null in JSON");
  return json;
}

function noInput(field: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`Invalid argument: ${field} must not be ${what}`, {
    field,
    hint: "Pass {} for a job that needs no input.",
  });
}

/** A prepared job as an element of `p_jobs` of jobforge_enqueue_jobs, or of the children of a run. */
export function jobJson(job: PreparedJob): JsonText {
  const keys = JSON.stringify({ type: job.type, ...job.keys });
  return new JsonText(`${keys.slice(0, -1)},"payload":${job.payload.text}}`);
}

/** A prepared job as the arguments of jobforge_enqueue_job. */
export function jobArguments(job: PreparedJob): Record<string, unknown> {
  const args: Record<string, unknown> = {
    p_tenant_id: job.tenantId,
    p_type: job.type,
    p_payload: job.payload,
  };
  for (const [key, value] of Object.entries(job.keys)) args[`p_${key}`] = value;
  return args;
}
