/**
 * The adapter of the TypeScript packages: reads requests from standard input, one JSON document per line, and replies
 * on standard output. It uses only the public API. Log lines of workers go to standard output as well.
 */
import { createInterface } from "node:readline";
import { setImmediate as nextTurn } from "node:timers/promises";
import { JobForge, JobForgeError } from "@jobforge/sdk-ts";
import {
  createTickHandler,
  createWorker,
  type Worker,
  type WorkerHooks,
  type WorkerOptions,
} from "@jobforge/worker-ts";
import pg from "pg";
import { callMethod } from "./ts/calls.ts";
import { definitionOf } from "./ts/definitions.ts";
import { Gates, handlersOf } from "./ts/handlers.ts";
import { type Fields, fieldOf, toFields, toOptions } from "./ts/names.ts";
import { RedisForge } from "./ts/redis.ts";
import { recordSpans } from "./ts/spans.ts";
import { start } from "./ts/workflows.ts";

interface Request {
  readonly id: number;
  readonly do: string;
  readonly on: string;
  readonly with: Fields;
}

const clients = new Map<string, { readonly forge: JobForge; readonly address: Fields }>();
const workers = new Map<string, Worker>();
const gates = new Gates();

function write(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function emit(event: string, fields: Fields): void {
  write({ event, ...fields });
}

recordSpans((span) => emit("span", span));

const verbs: Readonly<Record<string, (request: Request) => unknown>> = {
  connect: ({ on, with: address }) => {
    const forge = "redis" in address ? new RedisForge(address) : new JobForge(address as never);
    // The client on Redis has the calls of the other one that scenarios for Redis make.
    clients.set(on, { forge: forge as JobForge, address });
  },
  enqueue: async ({ on, with: args }) => enqueue(forgeOf(on), args),
  enqueue_many: async ({ on, with: { jobs, definitions, ...shared } }) => {
    const prepared = (jobs as Fields[]).map(({ type, payload, ...options }) => ({
      ...toOptions(options),
      job: definitionOf(type, definitions),
      input: payload,
    }));
    const handles = await forgeOf(on).enqueueMany(prepared as never, toOptions(shared));
    return (handles as { id: string; outcome: string }[]).map(({ id, outcome }) => ({ id, outcome }));
  },
  enqueue_in_transaction: enqueueInTransaction,
  start: async ({ on, with: args }) => start(forgeOf(on), args),
  call: async ({ on, with: args }) => {
    const result = await callMethod(forgeOf(on), args);
    // The result of a job or workflow is the application's own value.
    return /(?:^|\.)result$/.test(String(args["method"])) ? result : toFields(result);
  },
  worker: async ({ on, with: args }) => {
    const worker = workerOf(on, args);
    workers.set(worker.id, worker);
    if (args["until_signal"] === true) void runUntilSignal(worker);
    else await worker.start();
    return { id: worker.id };
  },
  tick: async ({ on, with: args }) => {
    const { limit, ...rest } = args;
    return await workerOf(on, rest).tick(limit === undefined ? {} : { limit: limit as number });
  },
  tick_request: async ({ on, with: { method = "POST", secret, given, limit, ...rest } }) => {
    const handle = createTickHandler({
      ...workerOptions(rest),
      forge: forgeOf(on),
      ...toOptions({ secret, limit }),
    });
    const headers = given === undefined ? {} : { authorization: `Bearer ${given}` };
    const response = await handle(
      new globalThis.Request("http://localhost/api/jobs/tick", { method: String(method), headers }),
    );
    return { status: response.status, body: await response.json() };
  },
  stop: async ({ with: { id, grace } }) => {
    const chosen = [...workers.values()].filter((worker) => id === undefined || worker.id === id);
    for (const worker of chosen) workers.delete(worker.id);
    const options = grace === undefined ? {} : { graceMs: Number(grace) * 1000 };
    await Promise.all(chosen.map((worker) => worker.stop(options)));
    await nextTurn();
  },
  metrics: ({ with: { id } }) => toFields(workers.get(String(id))?.metrics()),
  release: ({ with: { gate } }) => gates.release(String(gate)),
  disconnect,
};

function forgeOf(on: string): JobForge {
  const client = clients.get(on);
  if (client === undefined) throw new Error(`the adapter is not connected as ${on}`);
  return client.forge;
}

async function enqueue(forge: Pick<JobForge, "enqueue">, args: Fields): Promise<object> {
  const { type, payload, definitions, ...options } = args;
  const handle = await forge.enqueue(
    definitionOf(type, definitions),
    payload ?? {},
    toOptions(options) as never,
  );
  return { id: handle.id, outcome: handle.outcome, job: toFields(handle.job ?? null) };
}

/** Enqueues in a transaction of the application, and commits it or rolls it back. */
async function enqueueInTransaction({ on, with: { commit, ...args } }: Request): Promise<object> {
  const client = new pg.Client({ connectionString: String(clients.get(on)?.address["database"]) });
  await client.connect();
  try {
    await client.query("begin");
    const enqueued = await enqueue(forgeOf(on).with(client), args);
    await client.query(commit === true ? "commit" : "rollback");
    return enqueued;
  } finally {
    await client.end();
  }
}

function workerOf(on: string, args: Fields): Worker {
  const forge: unknown = forgeOf(on);
  const options = workerOptions(args);
  return forge instanceof RedisForge ? forge.worker(options) : createWorker(forge as JobForge, options);
}

function workerOptions(args: Fields): WorkerOptions {
  const { handlers: _, definitions: __, until_signal: ___, ...options } = args;
  return {
    abortGraceMs: 500,
    ...toOptions(options),
    handlers: handlersOf(args, gates, emit),
    hooks,
  };
}

const hook = (name: string) => (fields: object) => emit("hook", { name, ...(toFields(fields) as object) });

const hooks: WorkerHooks = {
  onClaim: (jobs) => hook("on_claim")({ jobs: jobs.length }),
  onStart: hook("on_start"),
  onSuccess: hook("on_success"),
  onFailure: hook("on_failure"),
  onDead: hook("on_dead"),
  onStale: hook("on_stale"),
  onTrouble: (_, trouble) => hook("on_trouble")(trouble),
  onTroubleOver: hook("on_trouble_over"),
};

/** As an application does: after the last job, it closes its client and ends. */
async function runUntilSignal(worker: Worker): Promise<void> {
  await worker.run();
  workers.delete(worker.id);
  await disconnect();
  input.close();
  process.stdin.destroy();
}

async function disconnect(): Promise<void> {
  gates.releaseAll();
  await Promise.all([...workers.values()].map((worker) => worker.stop({ graceMs: 0 })));
  workers.clear();
  await Promise.all([...clients.values()].map(({ forge }) => forge.close()));
  clients.clear();
  // The log writes its last lines in the next turn.
  await nextTurn();
}

function describe(error: unknown): object {
  const { name, message } = error as Error;
  if (!(error instanceof JobForgeError)) return { class: name, message };
  const { code, kind, field, hint, retryable } = error;
  return {
    class: name,
    message,
    code,
    kind,
    field: field === undefined ? null : fieldOf(field),
    hint,
    retryable,
  };
}

async function serve(request: Request): Promise<void> {
  try {
    const verb = verbs[request.do];
    if (verb === undefined) throw new Error(`the adapter has no verb ${request.do}`);
    write({ id: request.id, ok: (await verb(request)) ?? null });
  } catch (error) {
    write({ id: request.id, error: describe(error) });
  }
}

const input = createInterface({ input: process.stdin });
input.on("line", (line) => void serve(JSON.parse(line) as Request));
input.on("close", () => void disconnect().then(() => process.stdin.destroy()));
