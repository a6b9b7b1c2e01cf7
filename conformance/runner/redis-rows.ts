/**
 * The jobs in Redis as the rows that the views of Postgres would have. Reads the keys of BullMQ and the fields of
 * `@jobforge/bullmq` by itself, not through the client under test.
 */
import { Cluster, type Redis } from "ioredis";

export type Row = Readonly<Record<string, unknown>>;

export interface Rows {
  readonly jobs: readonly Row[];
  readonly results: readonly Row[];
}

type Fields = Readonly<Record<string, string>>;

/** What a job is, from its name, its priority and its data. */
interface Document {
  readonly tenantId: string;
  readonly payload: unknown;
  readonly priority: number;
  readonly canceled?: true;
  readonly createdAt?: string;
  readonly [name: string]: unknown;
}

/** What the package notes about the runs of a job. */
interface Note {
  readonly status?: string;
  readonly reason?: string;
  readonly costCents?: number;
  readonly unstarted?: true;
  readonly error?: Readonly<Record<string, unknown>>;
}

export async function readRows(client: Redis | Cluster, prefix: string): Promise<Rows> {
  const keys = (await keysOf(client, prefix)).filter((key) => /:[0-9a-f-]{36}$/.test(key));
  const read = await Promise.all(keys.map((key) => readJob(client, key)));
  const found = read.filter((row) => row !== undefined);
  return {
    jobs: found.map(({ job }) => job),
    results: found.flatMap(({ result }) => (result === undefined ? [] : [result])),
  };
}

/** The keys with this prefix, on all masters. */
export async function keysOf(client: Redis | Cluster, prefix: string): Promise<string[]> {
  const nodes = client instanceof Cluster ? client.nodes("master") : [client];
  return (await Promise.all(nodes.map((node) => node.keys(`{${prefix}*}:*`)))).flat();
}

/** The part of a key before the id of the job, which is that of its queue. */
export function queueOf(key: string): string {
  return key.slice(0, key.lastIndexOf(":"));
}

async function readJob(
  client: Redis | Cluster,
  key: string,
): Promise<{ readonly job: Row; readonly result: Row | undefined } | undefined> {
  const queue = queueOf(key);
  const id = key.slice(queue.length + 1);
  const [completed, failed, active, due] = await Promise.all([
    client.zscore(`${queue}:completed`, id),
    client.zscore(`${queue}:failed`, id),
    client.lpos(`${queue}:active`, id),
    client.zscore(`${queue}:delayed`, id),
  ]);
  const fields: Fields = await client.hgetall(key);
  const { data } = fields;
  if (data === undefined) return undefined;
  // The tenant is the name of the job. BullMQ's lower priorities come first, ours last.
  const facts = { tenantId: fields["name"], priority: 1_000_001 - Number(fields["priority"]) };
  const document = { ...facts, ...(JSON.parse(data) as object) } as Document;
  const note = JSON.parse(fields["jf"] ?? "{}") as Note;
  const state =
    completed !== null ? "completed" : failed !== null ? "failed" : active !== null ? "active" : "waiting";
  const status = statusOf(state, document, note);
  const result =
    status === "succeeded" && fields["returnvalue"] !== undefined
      ? { job_id: id, tenant_id: document.tenantId, result: JSON.parse(fields["returnvalue"]) as unknown }
      : undefined;
  const type = decodeURIComponent(queue.slice(queue.lastIndexOf(":") + 1));
  const row = { id, type, status, ...columnsOf(fields, document, note, status) };
  // BullMQ sorts the jobs that wait for their time by this time and a counter of twelve bits.
  return { job: due === null ? row : { ...row, run_at: isoOf(Math.floor(Number(due) / 0x1000)) }, result };
}

function statusOf(state: string, { canceled }: Document, { status }: Note): string {
  if (state === "completed") return "succeeded";
  if (state === "failed") return status ?? "dead";
  if (canceled) return "canceled";
  return state === "active" ? "running" : "queued";
}

function columnsOf(fields: Fields, document: Document, note: Note, status: string): Row {
  const options = JSON.parse(fields["opts"] ?? "{}") as { attempts?: number; delay?: number };
  const { attempts: max_attempts = 1, delay = 0 } = options;
  const number = (name: string): number => Number(fields[name] ?? 0);
  const time = (name: string): string | null => (fields[name] === undefined ? null : isoOf(number(name)));
  const attempts = number("ats") - (note.unstarted ? 1 : 0);
  const reasons: Readonly<Record<string, string>> = { succeeded: "done", canceled: "canceled" };
  return {
    tenant_id: document.tenantId,
    payload: document.payload,
    priority: document.priority,
    attempts,
    uncounted: attempts - number("atm") - number("stc") - (status === "running" ? 1 : 0),
    max_attempts,
    run_at: isoOf(number("timestamp") + delay),
    created_at: document.createdAt ?? time("timestamp"),
    started_at: time("processedOn"),
    finished_at: time("finishedOn"),
    locked_by: status === "running" ? (fields["pb"] ?? null) : null,
    expires_at: document["expiresAt"] ?? null,
    idempotency_key: document["idempotencyKey"] ?? null,
    dedupe_key: document["dedupeKey"] ?? null,
    subject: document["subject"] ?? null,
    tags: document["tags"] ?? [],
    traceparent: document["traceparent"] ?? null,
    progress:
      fields["progress"] === undefined || fields["progress"] === "0" ? null : JSON.parse(fields["progress"]),
    cancel_requested: fields["jf:cancel"] !== undefined,
    ...errorOf(fields, note, status),
    cost_cents: note.costCents ?? null,
    reason:
      status === "queued" || status === "running" ? null : (note.reason ?? reasons[status] ?? "crashed"),
  };
}

/** A success clears the error. Only an error with causes has more to say than its message. */
function errorOf({ failedReason }: Fields, { error }: Note, status: string): Row {
  if (error === undefined || status === "succeeded") return { error: null, last_error: null };
  const hasMore = failedReason !== error["message"];
  return {
    error: hasMore ? { ...error, fullMessage: failedReason } : error,
    last_error: failedReason ?? null,
  };
}

function isoOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
