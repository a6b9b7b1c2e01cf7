/** Assertions about the jobs that the code under test has enqueued. */
import { AssertionError } from "node:assert";
import type { Job, JobDefinition, JobForge, JobInput, JobOf, JobStatus } from "@jobforge/sdk-ts";

/** Part of a value: an object may leave out properties, at any depth. Arrays are whole. */
export type Subset<T> = T extends readonly (infer E)[]
  ? readonly Subset<E>[]
  : T extends Date
    ? T
    : T extends object
      ? { readonly [K in keyof T]?: Subset<T[K]> | undefined }
      : T;

export interface EnqueuedJobs<D extends JobDefinition = JobDefinition> {
  /** Jobs of this definition. It also types `payload` and the jobs that are returned. */
  readonly job?: D | undefined;
  /** Jobs of this type, where there is no definition. */
  readonly type?: string | undefined;
  /** Jobs of this tenant. Without it, jobs of all tenants, which only an operator or the owner may read. */
  readonly tenantId?: string | undefined;
  /** Properties that the payload has, among others. */
  readonly payload?: Subset<JobInput<D>> | undefined;
  /** Default: any status, because a worker may have run the job already. */
  readonly status?: JobStatus | readonly JobStatus[] | undefined;
  /** Tags that the job has, among others. */
  readonly tags?: string | readonly string[] | undefined;
  readonly subject?: string | undefined;
  /** The exact number of such jobs. Default: at least one. */
  readonly count?: number | undefined;
}

const options = new Set(["job", "type", "tenantId", "payload", "status", "tags", "subject", "count"]);

/** How many jobs the message of a failed assertion shows. */
const shownJobs = 20;

/**
 * Fails unless such jobs have been enqueued. Returns them, newest first, so that a test can check more of them. The
 * message of the error shows the jobs that there are.
 */
export async function assertEnqueued<D extends JobDefinition = JobDefinition>(
  forge: Pick<JobForge, "jobs" | "list">,
  expected: EnqueuedJobs<D>,
): Promise<readonly JobOf<D>[]> {
  const found = await findJobs(forge, expected);
  const { count } = expected;
  if (count === undefined ? found.length > 0 : found.length === count) return found;
  const wanted = count === undefined ? "at least one job" : `${count} ${count === 1 ? "job" : "jobs"}`;
  throw new AssertionError({ message: await messageOf(forge, expected, wanted, found.length) });
}

/** Fails if such a job has been enqueued. The message of the error shows the jobs that there are. */
export async function assertNotEnqueued<D extends JobDefinition = JobDefinition>(
  forge: Pick<JobForge, "jobs" | "list">,
  unexpected: Omit<EnqueuedJobs<D>, "count">,
): Promise<void> {
  if ("count" in unexpected) throw new TypeError("assertNotEnqueued has no option count");
  const found = await findJobs(forge, unexpected);
  if (found.length === 0) return;
  throw new AssertionError({ message: await messageOf(forge, unexpected, "no job", found.length) });
}

async function findJobs<D extends JobDefinition>(
  forge: Pick<JobForge, "jobs" | "list">,
  expected: EnqueuedJobs<D>,
): Promise<JobOf<D>[]> {
  const unknown = Object.keys(expected).find((name) => !options.has(name));
  if (unknown !== undefined)
    throw new TypeError(`Unknown option ${unknown}; the options are ${[...options].join(", ")}`);
  const { job, type, tenantId, payload, status, tags, subject, count } = expected;
  if (count !== undefined && !(Number.isInteger(count) && count >= 0))
    throw new TypeError("count must be a whole number, 0 or more");
  if (job !== undefined && type !== undefined) throw new TypeError("Give either job or type, not both");
  const filters = { job, type, status, tags, subject };
  const jobs =
    tenantId === undefined ? forge.jobs.search<D>(filters) : forge.list<D>({ ...filters, tenantId });
  const wanted = toJson(payload);
  const found: JobOf<D>[] = [];
  for await (const one of jobs) if (includes(one.payload, wanted)) found.push(one);
  return found;
}

/** The JSON form, in which payloads are stored: a Date is a text. */
function toJson(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}

/** Whether a JSON value has everything that another one has. */
function includes(value: unknown, wanted: unknown): boolean {
  if (wanted === undefined) return true;
  if (!isObject(wanted)) return value === wanted;
  if (!isObject(value) || Array.isArray(value) !== Array.isArray(wanted)) return false;
  if (Array.isArray(wanted) && Array.isArray(value) && wanted.length !== value.length) return false;
  return Object.entries(wanted).every(
    ([key, part]) => Object.hasOwn(value, key) && includes(Reflect.get(value, key), part),
  );
}

/** Not `instanceof Object`: Jest gives each test file its own globals. */
function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

async function messageOf(
  forge: Pick<JobForge, "jobs" | "list">,
  expected: EnqueuedJobs,
  wanted: string,
  found: number,
): Promise<string> {
  const { job, type = job?.type, tenantId, payload, status, tags, subject } = expected;
  const criteria = [
    type === undefined ? "" : ` of type ${type}`,
    tenantId === undefined ? "" : ` of tenant ${tenantId}`,
    payload === undefined ? "" : ` with payload ${JSON.stringify(payload)}`,
    status === undefined ? "" : ` with status ${[status].flat().join(" or ")}`,
    tags === undefined ? "" : ` with tags ${[tags].flat().join(", ")}`,
    subject === undefined ? "" : ` with subject ${subject}`,
  ].join("");
  return `Expected ${wanted}${criteria}, found ${found}.\n${await describeJobs(forge, tenantId)}`;
}

/** The newest jobs of all tenants. A caller who may not read those gets the jobs of its tenant. */
async function describeJobs(
  forge: Pick<JobForge, "jobs" | "list">,
  tenantId: string | undefined,
): Promise<string> {
  const pageSize = shownJobs;
  const page = await forge.jobs
    .search({ pageSize })
    .page()
    .catch((error: unknown) => {
      if (tenantId === undefined) throw error;
      return forge.list({ tenantId, pageSize }).page();
    });
  if (page.items.length === 0) return "There are no jobs.";
  const more = page.cursor === undefined ? "" : `\n  … and older ones`;
  return `These jobs exist, newest first:\n${page.items.map(lineOf).join("\n")}${more}`;
}

/** The longest payload that a line shows whole, in characters. */
const shownPayload = 300;

function lineOf({ type, status, tenantId, payload }: Job): string {
  const text = JSON.stringify(payload) ?? "null";
  const shown = text.length > shownPayload ? `${text.slice(0, shownPayload)}…` : text;
  return `  ${type} ${status}, tenant ${tenantId}: ${shown}`;
}
