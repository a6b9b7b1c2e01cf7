/**
 * BullMQ's scripts for many jobs in one call. A script of ours has the text of BullMQ's script as a function, and calls
 * it for each job. So BullMQ adds, claims and ends every job, and what a call costs besides is paid once for all.
 */
/// <reference path="./bullmq-scripts.d.ts" />
import { type RedisQueueBackend, raw2NextJobData } from "bullmq";
import {
  addDelayedJob,
  addPrioritizedJob,
  type BullScript,
  moveToActive,
  moveToFinished,
} from "bullmq/dist/cjs/scripts/index.js";
import { isCluster, type RedisClient } from "./connection.ts";
import type { StoredJob } from "./queues.ts";

/** The most jobs of one script. Redis does nothing else meanwhile, and the worker has its next jobs only afterwards. */
export const mostPerScript = 25;
/** The most bytes of one script, unless a single job has more. */
const mostBytes = 1_000_000;

/** A job that BullMQ took from a queue, in BullMQ's form. It has no first element if there was none. */
export type NextJob = readonly unknown[];

type Argument = string | number | boolean | Buffer | undefined;

const asFunction = ({ content }: BullScript): string => `local function one(KEYS, ARGV)\n${content}\nend\n`;

/** ARGV: what BullMQ passes for each job. */
const adding = (script: BullScript): string => `${asFunction(script)}
local ids = {}
for place = 1, #ARGV, 3 do
  ids[#ids + 1] = one(KEYS, { ARGV[place], ARGV[place + 1], ARGV[place + 2] })
end
return ids`;

/** ARGV: the prefix, the time, the lease, the worker, and a token for each job. */
const claiming = `${asFunction(moveToActive)}
local replies = {}
for place = 5, #ARGV do
  local opts = { token = ARGV[place], lockDuration = tonumber(ARGV[3]), name = ARGV[4] }
  local reply = one(KEYS, { ARGV[1], ARGV[2], cmsgpack.pack(opts) })
  replies[#replies + 1] = reply
  if reply[2] == 0 then break end
end
return replies`;

/**
 * ARGV: the time, the name of the result, the new state, the prefix, and for each job its id, its result, BullMQ's
 * options, and whether to take the next job. The script stops looking for next jobs when it has found none.
 */
const completing = `${asFunction(moveToFinished)}
local replies = {}
local isEmpty = false
for place = 5, #ARGV, 4 do
  local id = ARGV[place]
  local fetch = isEmpty and "0" or ARGV[place + 3]
  KEYS[12] = ARGV[4] .. id
  local reply = one(KEYS, { id, ARGV[1], ARGV[2], ARGV[place + 1], ARGV[3], fetch, ARGV[4], ARGV[place + 2], "" })
  isEmpty = isEmpty or (fetch == "1" and (reply == 0 or (type(reply) == "table" and reply[2] == 0)))
  replies[#replies + 1] = reply
end
return replies`;

const scripts = {
  addDelayed: { numberOfKeys: addDelayedJob.keys, lua: adding(addDelayedJob) },
  addPrioritized: { numberOfKeys: addPrioritizedJob.keys, lua: adding(addPrioritizedJob) },
  claim: { numberOfKeys: moveToActive.keys, lua: claiming },
  complete: { numberOfKeys: moveToFinished.keys, lua: completing },
} as const;

/** Runs a script. ioredis sends its text once for each connection, and its hash from then on. */
async function run(
  client: RedisClient,
  name: keyof typeof scripts,
  args: readonly Argument[],
): Promise<readonly unknown[]> {
  const command = `jobforge:${name}`;
  const commands = client as unknown as Record<string, (args: readonly Argument[]) => Promise<unknown[]>>;
  if (commands[command] === undefined) client.defineCommand(command, scripts[name]);
  return (await commands[command]?.(args)) ?? [];
}

/** A job to add, and its id. */
export interface Addition {
  readonly stored: StoredJob;
  readonly id: string;
}

/** How many calls are under way at the same time. Redis stores the jobs of one while the next one is being written. */
const mostCalls = 32;

/** Adds jobs, in order. Resolves to their ids: another job's, if that one has the dedupe key. */
export async function addAll(
  client: RedisClient,
  store: RedisQueueBackend,
  jobs: readonly Addition[],
): Promise<string[]> {
  const parts = inParts(jobs, { bytesOf: ({ stored }) => stored.data.length, kindOf: isDelayed });
  // In a cluster, a call that is redirected would be overtaken by the next one.
  const atOnce = isCluster(client) ? 1 : mostCalls;
  const ids: string[] = [];
  for (let from = 0; from < parts.length; from += atOnce) {
    const some = parts.slice(from, from + atOnce);
    ids.push(...(await Promise.all(some.map(({ items }) => addPart(client, store, items)))).flat());
  }
  return ids;
}

function isDelayed({ stored }: Addition): boolean {
  return (stored.opts.delay ?? 0) > 0;
}

/** Adds jobs with one script: all of them with a delay, or all without. */
async function addPart(
  client: RedisClient,
  store: RedisQueueBackend,
  jobs: readonly Addition[],
): Promise<string[]> {
  const name = jobs.some(isDelayed) ? "addDelayed" : "addPrioritized";
  const { numberOfKeys } = scripts[name];
  const args = jobs.map((job) => argumentsOf(store, job));
  const keys = args[0]?.slice(0, numberOfKeys) ?? [];
  const ids = await run(client, name, [...keys, ...args.flatMap((each) => each.slice(numberOfKeys))]);
  return ids.map(String);
}

/** What BullMQ would pass to its script that adds the job: the keys, and three arguments. */
function argumentsOf(store: RedisQueueBackend, job: Addition): readonly Argument[] {
  let passed: readonly Argument[] = [];
  const runCommand = (_name: string, args: readonly Argument[]): string => {
    passed = args;
    return "";
  };
  // BullMQ passes them before anything asynchronous.
  void store.addJobToTransaction({ runCommand } as never, job.stored, job.id);
  return passed;
}

export interface ClaimCall {
  readonly workerId: string;
  readonly leaseMs: number;
  /** One for each job to claim: the lock of the job gets it. */
  readonly tokens: readonly string[];
}

/** Claims up to as many jobs as there are tokens. The last reply has no job if the queue had fewer. */
export async function claimMany(
  client: RedisClient,
  store: RedisQueueBackend,
  { workerId, leaseMs, tokens }: ClaimCall,
): Promise<NextJob[]> {
  const { keys } = store;
  const names = [
    ...["wait", "active", "prioritized", "events", "stalled", "limiter", "delayed", "paused", "meta"],
    ...["pc", "marker"],
  ];
  const passed = [...names.map((name) => keys[name]), keys[""], Date.now(), leaseMs, workerId, ...tokens];
  return (await run(client, "claim", passed)).map((reply) => raw2NextJobData(reply as never[]));
}

/** A run that has succeeded. */
export interface Completion {
  readonly job: never;
  readonly result: unknown;
  readonly keep: Parameters<RedisQueueBackend["moveToCompletedArgs"]>[2];
  readonly token: string;
  /** Whether to take the next job of the queue, whose lock then gets the same token. */
  readonly fetchNext: boolean;
}

/** BullMQ's code says what is wrong with the job. */
export class RunRefusedError extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`BullMQ refused the end of the run with code ${code}`);
    this.code = code;
  }
}

/** Ends runs. Resolves to the job that was taken with each, if one was asked for, or to an error. */
export async function completeMany(
  client: RedisClient,
  store: RedisQueueBackend,
  ends: readonly Completion[],
): Promise<(NextJob | undefined | Error)[]> {
  const args = ends.map(({ job, result, keep, token, fetchNext }) =>
    store.moveToCompletedArgs(job, JSON.stringify(result), keep, token, fetchNext),
  );
  const sizes = args.map((each) => String(each[moveToFinished.keys + 3]).length);
  const parts = inParts(ends, { bytesOf: (_, place) => sizes[place] ?? 0 });
  const replies = await Promise.all(
    parts.map(async ({ from, items }) => completePart(client, items, args.slice(from, from + items.length))),
  );
  return replies.flat();
}

async function completePart(
  client: RedisClient,
  ends: readonly Completion[],
  args: readonly (readonly Argument[])[],
): Promise<(NextJob | undefined | Error)[]> {
  const { keys } = moveToFinished;
  const [first = []] = args;
  const [, time, name, , state, , prefix] = first.slice(keys);
  const own = args.flatMap((each) => {
    const [id, , , result, , fetch, , options] = each.slice(keys);
    return [id, result, options, fetch];
  });
  const replies = await run(client, "complete", [...first.slice(0, keys), time, name, state, prefix, ...own]);
  let isEmpty = false;
  return ends.map(({ fetchNext }, place) => {
    const reply = replies[place];
    if (typeof reply === "number" && reply < 0) return new RunRefusedError(reply);
    if (!fetchNext || isEmpty) return undefined;
    const next = raw2NextJobData(reply as never[]);
    isEmpty = !next[0];
    return next;
  });
}

interface Part<T> {
  readonly from: number;
  readonly items: T[];
  readonly kind: unknown;
}

/** Divides items into parts, each for one script: neighbours of one kind. */
export function inParts<T>(
  items: readonly T[],
  {
    bytesOf,
    kindOf = () => undefined,
  }: {
    readonly bytesOf: (item: T, place: number) => number;
    readonly kindOf?: (item: T) => unknown;
  },
): readonly Part<T>[] {
  const parts: Part<T>[] = [];
  let bytes = 0;
  for (const [place, item] of items.entries()) {
    const last = parts.at(-1);
    const kind = kindOf(item);
    const more = bytesOf(item, place);
    bytes += more;
    const hasRoom = last !== undefined && last.items.length < mostPerScript && bytes <= mostBytes;
    if (hasRoom && last.kind === kind) last.items.push(item);
    else {
      parts.push({ from: place, items: [item], kind });
      bytes = more;
    }
  }
  return parts;
}
