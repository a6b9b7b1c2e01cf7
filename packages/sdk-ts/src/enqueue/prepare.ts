/** Makes of a definition, an input and options what the kernel is given: checked, and written as JSON once. */
import { checkEnqueueOptions, checkType } from "../arguments.ts";
import type { EnqueueOptions, JobDefinition } from "../define/definition.ts";
import { checkValue } from "../define/schema.ts";
import { InvalidArgumentError } from "../errors.ts";
import { JsonText, toJson } from "../json.ts";
import { toKeys } from "../rows.ts";

export interface PreparedJob {
  readonly tenantId: string;
  readonly type: string;
  readonly payload: JsonText;
  /** Everything else, under the kernel's keys without `p_`. */
  readonly keys: Readonly<Record<string, unknown>>;
}

/**
 * Checks a job that is to be enqueued. What is stored is what the caller passed: the handler runs the schema again, so that a schema which
 * transforms does so once. `at` is put before the names of fields in errors, such as `jobs[3].`.
 */
export async function prepareJob(
  job: JobDefinition,
  input: unknown,
  options: EnqueueOptions,
  at = "",
): Promise<PreparedJob> {
  // A definition may be an object that defineJob never saw.
  checkType(job?.type, `${at}type`);
  if (input === null || input === undefined) throw noInput(`${at}payload`, String(input));
  // Without a schema nothing has to be waited for: of tens of thousands of jobs each wait would count.
  const checked = job.input === undefined ? input : await checkValue(job.input, input, `${at}payload`);
  const { tenantId, tags, priority, dedupeKey, subject, ...others } = options;
  const rest = {
    ...others,
    tags: job.tags === undefined ? tags : [...new Set([...job.tags, ...(tags ?? [])])],
    priority: priority ?? job.priority,
    dedupeKey: dedupeKey ?? job.dedupe?.(checked),
    subject: subject ?? job.subject?.(checked),
  };
  checkEnqueueOptions(rest, tenantId, at);
  return { tenantId, type: job.type, payload: payloadJson(input, `${at}payload`), keys: toKeys(rest) };
}

/** A payload as JSON text. Also one whose JSON is null, such as NaN or what a toJSON() gives, is none. */
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

/** A prepared job as an element of `p_jobs` of jobforge_enqueue_jobs, or of the children of a run's end. */
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
