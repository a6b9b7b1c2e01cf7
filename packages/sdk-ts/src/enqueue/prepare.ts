/** Turns a definition, an input and options into arguments of the kernel: checked, and serialized to JSON once. */
import { checkEnqueueOptions, checkOptionNames } from "../arguments/enqueue.ts";
import { checkDefinitionOf } from "../arguments/names.ts";
import { maxOffloadBytes } from "../artifacts/stored-value.ts";
import type { EnqueueOptions, JobDefinition } from "../define/definition.ts";
import { retryOf } from "../define/retry.ts";
import { InvalidArgumentError } from "../errors.ts";
import { JsonText, maxPayloadBytes } from "../json.ts";
import { toKeys } from "../rows.ts";
import { checkPayload } from "./payload.ts";

export interface PreparedJob {
  readonly tenantId: string;
  readonly type: string;
  readonly payload: JsonText;
  /** Whether a large payload goes to the artifact store. */
  readonly offload?: boolean | undefined;
  /** The other options, under the kernel's keys without `p_`. */
  readonly keys: Readonly<Record<string, unknown>>;
}

/**
 * Checks a job before it is enqueued. The input is stored as the caller passed it, because the worker applies the
 * schema again, and a transformation must happen only once. `at` is a prefix for the names of fields in errors, such as
 * `jobs[3].`. Returns a promise only if the schema does: an enqueue in a transaction is then sent before the caller can
 * end the transaction.
 */
export function prepareJob(
  job: JobDefinition,
  input: unknown,
  options: EnqueueOptions,
  at = "",
): PreparedJob | Promise<PreparedJob> {
  // A definition may be an object that defineJob did not create, and options may come from plain JavaScript.
  checkDefinitionOf(job, at);
  checkOptionNames(options, at);
  const maxBytes = options.offload === true ? maxOffloadBytes : maxPayloadBytes;
  const { json, checked } = checkPayload(job.input, input, `${at}payload`, maxBytes);
  return checked instanceof Promise
    ? checked.then((value) => prepared(job, json, value, options, at))
    : prepared(job, json, checked, options, at);
}

function prepared(
  job: JobDefinition,
  payload: JsonText,
  checked: unknown,
  options: EnqueueOptions,
  at: string,
): PreparedJob {
  const { tenantId, tags, priority, dedupeKey, dedupeMode, subject, offload, ...others } = options;
  const key = dedupeKey ?? job.dedupe?.(checked);
  const mode = dedupeMode ?? job.dedupeMode;
  if (mode !== undefined && key === undefined && job.dedupe === undefined) throw noDedupeKey(at);
  const rest = {
    ...others,
    tags: job.tags === undefined ? tags : [...new Set([...job.tags, ...(tags ?? [])])],
    priority: priority ?? job.priority,
    dedupeKey: key,
    // The definition may leave an input without a key. Nothing is merged then.
    dedupeMode: key === undefined ? undefined : mode,
    subject: subject ?? job.subject?.(checked),
  };
  checkEnqueueOptions({ ...rest, offload }, tenantId, at);
  const notify = rest.notify === undefined ? undefined : toKeys(rest.notify);
  const keys = toKeys({ ...rest, notify, defaultAttempts: retryOf(job)?.maxAttempts });
  return { tenantId, type: job.type, payload, keys, ...(offload === true ? { offload } : {}) };
}

function noDedupeKey(at: string): InvalidArgumentError {
  return new InvalidArgumentError(`Invalid argument: ${at}dedupeMode has no effect without a dedupeKey`, {
    field: `${at}dedupeMode`,
    hint: "Pass dedupeKey as well, or give the definition a dedupe(input) that returns one.",
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
  // p_notify says whether the call wakes workers.
  for (const [key, value] of Object.entries(job.keys))
    args[key === "notify" ? "p_notify_to" : `p_${key}`] = value;
  return args;
}
