/**
 * Moves waiting, delayed and retrying jobs between Postgres and Redis, while workers run on both. Each job is moved
 * exactly once, by its id. The move can be killed at any point, and another run of it goes on from there.
 *
 * To Redis: the database takes a batch out of its queue; Redis stores the jobs, parked; the database notes that they
 * were sent; Redis unparks them; the database forgets them. A job that is stored again because the move was killed is
 * still parked, so it cannot have run in between.
 *
 * To Postgres: Redis hides a batch from workers; the database stores the jobs; Redis deletes them; the database queues
 * them.
 */
import type { Transport } from "@jobforge/sdk-ts";
import type { BullForge } from "../bull-forge.ts";
import { idOfKey, movedKey } from "../layout.ts";
import { type BullQueue, ticksPerMs } from "../queues.ts";
import { fieldsOf, type MovedJob, parkedMs, toParked } from "./document.ts";
import { deleteHidden, hiddenJobs, hideJobs, waitingJobs } from "./hide.ts";

export interface MoveOptions {
  readonly types: readonly string[];
  /** The number of jobs of one batch, 1 to 5000. Default 500. */
  readonly batchSize?: number | undefined;
  /** Called after each batch. */
  readonly onProgress?: ((progress: MoveProgress) => void) | undefined;
}

export interface MoveProgress {
  /** The jobs moved so far. */
  readonly moved: number;
}

export interface MovePlan {
  /** The jobs that would be moved. */
  readonly jobs: number;
  /** The queued jobs that stay, because only Postgres has what they need. See docs/guides/redis.md. */
  readonly left: number;
}

type Step = "count" | "begin" | "take" | "send" | "sent" | "drop" | "receive" | "release";

/** The steps of the database. */
class Database {
  readonly #transport: Transport;
  readonly #types: readonly string[];
  readonly #limit: number;
  #move: string | undefined;

  constructor({ transport }: { readonly transport: Transport }, { types, batchSize = 500 }: MoveOptions) {
    this.#transport = transport;
    this.#types = types;
    this.#limit = batchSize;
  }

  /** Begins a move. Another one of the same types can then do no further step. */
  async begin(): Promise<void> {
    this.#move = await this.step<string>("begin");
  }

  async step<T>(step: Step, jobs?: readonly unknown[]): Promise<T> {
    return await this.#transport.call<T>("jobforge_move_jobs", {
      p_step: step,
      p_types: this.#types,
      p_jobs: jobs,
      p_limit: this.#limit,
      p_move: this.#move,
    });
  }
}

type Postgres = { readonly transport: Transport };

/** What a move to Redis would do. */
export async function planToRedis(postgres: Postgres, options: MoveOptions): Promise<MovePlan> {
  return await new Database(postgres, options).step<MovePlan>("count");
}

/** What a move to Postgres would do. */
export async function planToPostgres(forge: BullForge, { types }: MoveOptions): Promise<MovePlan> {
  await forge.ready();
  const found = await Promise.all(forge.queues.all(types).map((queue) => waitingJobs(queue, 0)));
  return { jobs: found.reduce((sum, { total }) => sum + total, 0), left: 0 };
}

/** Moves the queued jobs of the types to Redis. Resolves to their number. */
export async function moveToRedis(
  postgres: Postgres,
  forge: BullForge,
  options: MoveOptions,
): Promise<MoveProgress> {
  const database = new Database(postgres, options);
  await forge.ready();
  await database.begin();
  let moved = 0;
  for (;;) {
    // What an interrupted move has sent comes first.
    const sent = await database.step<MovedJob[]>("sent");
    if (sent.length > 0) {
      await Promise.all(sent.map((job) => unpark(forge, job)));
      await database.step("drop", idsOf(sent));
      moved += sent.length;
      options.onProgress?.({ moved });
      continue;
    }
    const taken = await database.step<MovedJob[]>("take");
    if (taken.length === 0) return { moved };
    await Promise.all(taken.map((job) => park(forge, job)));
    await database.step("send", idsOf(taken));
  }
}

/** Moves the waiting jobs of the types to Postgres. Resolves to their number. */
export async function moveToPostgres(
  postgres: Postgres,
  forge: BullForge,
  options: MoveOptions,
): Promise<MoveProgress> {
  const database = new Database(postgres, options);
  const { batchSize = 500 } = options;
  const { client } = forge.connection;
  await forge.ready();
  await database.begin();
  let moved = 0;
  for (const queue of forge.queues.all(options.types)) {
    for (;;) {
      // What an interrupted move has hidden comes first.
      let jobs = await hiddenJobs(client, queue, batchSize);
      if (jobs.length === 0) {
        await hideSome(forge, queue, batchSize);
        jobs = await hiddenJobs(client, queue, batchSize);
      }
      if (jobs.length === 0) break;
      await database.step(
        "receive",
        jobs.map(({ job }) => job),
      );
      const gone = await deleteHidden(client, queue, jobs);
      // Those that were changed meanwhile are read again.
      if (gone.length > 0) moved += await database.step<number>("release", gone);
      options.onProgress?.({ moved });
    }
  }
  // What an interrupted move has received and not queued.
  for (let more = 1; more > 0; moved += more) more = await database.step<number>("release");
  return { moved };
}

async function hideSome(forge: BullForge, queue: BullQueue, batchSize: number): Promise<void> {
  const { ids } = await waitingJobs(queue, batchSize);
  await hideJobs(forge.connection.client, queue, ids);
}

/** Stores a job so that it does not run yet. A live job may have its dedupe key; then it is stored without that key. */
async function park(forge: BullForge, job: MovedJob): Promise<void> {
  const queue = forge.queues.of(job.type, job.tenant_id);
  const { store } = queue;
  const { client } = forge.connection;
  if (job.idempotency_key !== undefined) {
    const key = movedKey(queue, idOfKey(job.tenant_id, job.type, job.idempotency_key));
    await client.set(key, job.id);
  }
  const { id } = job;
  const added = await queue.add({ stored: toParked(job), id });
  if (added !== id) await queue.add({ stored: toParked({ ...job, dedupe_key: undefined }), id });
  const fields = Object.entries(fieldsOf(job)).flat();
  const keys = [store.toKey("delayed"), queue.jobKey(job.id)];
  if (fields.length > 0) await client.eval(writeParked, 2, ...keys, job.id, parkedAfter(), ...fields);
}

/** Writes fields of a job that is parked. A job that runs already has newer ones. */
const writeParked = `
local score = redis.call("ZSCORE", KEYS[1], ARGV[1])
if not score or tonumber(score) / ${ticksPerMs} < tonumber(ARGV[2]) then return 0 end
for place = 3, #ARGV, 2 do redis.call("HSET", KEYS[2], ARGV[place], ARGV[place + 1]) end
return 1`;

/** A job that is due later than this, in milliseconds, is parked. */
function parkedAfter(): number {
  return Date.now() + parkedMs / 2;
}

/** Lets a parked job run when it is due. A job that is no longer parked is left as it is. */
async function unpark(forge: BullForge, job: MovedJob): Promise<void> {
  const { store } = forge.queues.of(job.type, job.tenant_id);
  const score = await forge.connection.client.zscore(store.toKey("delayed"), job.id);
  const isParked = score !== null && Number(score) / ticksPerMs > parkedAfter();
  if (isParked) await store.changeDelay(job.id, Math.max(0, Date.parse(job.run_at) - Date.now()));
}

function idsOf(jobs: readonly MovedJob[]): string[] {
  return jobs.map(({ id }) => id);
}
