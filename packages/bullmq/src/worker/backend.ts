/** A worker's jobs in Redis: claims, ends, heartbeats and progress, on BullMQ's queues. */
import {
  checkResult,
  type EnqueueOptions,
  type JobDefinition,
  JobNotHeldError,
  toStorableJson,
} from "@jobforge/sdk-ts";
import {
  type Backend,
  type BackendWorker,
  type ClaimRequest,
  DatabaseClock,
  type EndedRun,
  type HeartbeatResponse,
  type RunKey,
  type SettledRun,
  type SettleResponse,
} from "@jobforge/worker-ts/runtime";
import type { BullForge } from "../bull-forge.ts";
import type { BullQueue } from "../queues.ts";
import { cancelField, writeField } from "../scripts.ts";
import { refuseConcurrencyKey, refuseNotify, refuseOffload, requireSupported } from "../support.ts";
import { childrenOf } from "./children.ts";
import { type Claimed, Claims, type Next, toClaimed } from "./claims.ts";
import { endRun } from "./endings.ts";
import { type BullRun, BullRuns } from "./held.ts";
import { withinTime } from "./time.ts";
import { Markers } from "./wake.ts";

/** Redis may be down for longer. Then the worker says so, and tries again. */
const settleTimeoutMs = 30_000;
const callTimeoutMs = 10_000;

/** A call of the worker, and what it has claimed so far. */
interface Call {
  readonly request: ClaimRequest | undefined;
  claimed: Claimed[];
}

export class BullBackend implements Backend {
  readonly workerId: string;
  readonly types: readonly string[];
  readonly clock: DatabaseClock = new DatabaseClock();
  readonly #forge: BullForge;
  readonly #queues: readonly BullQueue[];
  readonly #definitions: ReadonlyMap<string, JobDefinition>;
  readonly #claims: Claims;
  readonly #runs = new BullRuns();
  /** What became of ends whose call has failed otherwise. The worker sends them again. */
  readonly #replies = new WeakMap<EndedRun, SettledRun>();
  /** Claims of calls that have failed or were late. The next response to a claim returns them. */
  readonly #unreturned: Claimed[] = [];
  #markers: Markers | undefined;

  constructor(forge: BullForge, { id, definitions }: BackendWorker) {
    this.workerId = id;
    this.types = definitions.map(({ type }) => type);
    this.#forge = forge;
    this.#queues = definitions.flatMap(({ type, leaseMs }) => forge.queuesWithLease(leaseMs).all([type]));
    this.#definitions = new Map(definitions.map((definition) => [definition.type, definition]));
    this.#claims = new Claims(forge.connection.client, id, this.#queues, this.#definitions);
  }

  async settle(ends: readonly EndedRun[], request?: ClaimRequest): Promise<SettleResponse> {
    // Calls overlap. Each returns its own claims, because the worker takes one that returns less for the last one.
    const call: Call = { request, claimed: [] };
    try {
      const settled = await withinTime(this.#forge.connection, settleTimeoutMs, this.#settle(ends, call));
      return respond(settled, [
        ...(request === undefined ? [] : this.#unreturned.splice(0)),
        ...call.claimed,
      ]);
    } catch (error) {
      this.#unreturned.push(...call.claimed);
      // A call that is late may still claim something.
      call.claimed = this.#unreturned;
      throw error;
    }
  }

  async heartbeat(info: Readonly<Record<string, unknown>>): Promise<HeartbeatResponse> {
    this.#markers?.setIdle(info["idle"] === true);
    const held = (info["held"] as readonly RunKey[]).map((key) => this.#runs.find(key));
    const [lost, cancel] = await withinTime(
      this.#forge.connection,
      callTimeoutMs,
      this.#beat(held.filter((run) => run !== undefined)),
    );
    return { cancel, lost, next_due_at: null, now: new Date().toISOString() };
  }

  async progress(key: RunKey, progress: unknown): Promise<{ readonly cancel_requested: boolean }> {
    checkResult(progress, "progress");
    const { text } = toStorableJson(progress, "progress");
    const run = this.#runs.find(key);
    if (run === undefined) throw new JobNotHeldError();
    const written = await writeField(this.#forge.connection.client, run.queue, run, "progress", text);
    if (written === "lost") throw new JobNotHeldError();
    run.isCanceled ||= written === "canceled";
    return { cancel_requested: written === "canceled" };
  }

  checkChild(job: JobDefinition, { concurrencyKey, notify, offload }: Partial<EnqueueOptions>): void {
    requireSupported(job);
    refuseConcurrencyKey(concurrencyKey);
    refuseNotify(notify);
    refuseOffload(offload);
  }

  readonly listen: NonNullable<Backend["listen"]> = async (events) => {
    this.#markers = new Markers({
      queues: this.#queues,
      events,
      open: () => this.#forge.connection.duplicate(),
      wake: (queue) => this.#claims.wake(queue),
    });
    return this.#markers;
  };

  async #settle(ends: readonly EndedRun[], call: Call): Promise<SettledRun[]> {
    await this.#forge.ready();
    const { request } = call;
    const isOnlySource = this.#claims.onlySource();
    const mayFetch = ({ queue }: BullRun): boolean =>
      (request?.types.includes(queue.type) ?? false) && isOnlySource(queue);
    const nexts: Next[] = [];
    let left = request?.limit ?? 0;
    const replies = ends.map((end) => {
      const run = end.end && this.#runs.find(end.end);
      const fetchNext = run !== undefined && left > 0 && mayFetch(run);
      if (fetchNext) left -= 1;
      return this.#end(end, run, fetchNext ? nexts : undefined);
    });
    const ended = await Promise.allSettled(replies);
    // First what was claimed, also if an end has failed: the worker holds these jobs now.
    if (nexts.length > 0) this.#keepClaim(call, await this.#claims.accept(nexts));
    const settled = ended.map((end) => {
      if (end.status === "rejected") throw end.reason;
      return end.value;
    });
    // The end of a run that is retried takes no job along, so the room for it is still there.
    left = (request?.limit ?? 0) - call.claimed.reduce((sum, { runs }) => sum + runs.length, 0);
    if (left > 0 && request !== undefined)
      this.#keepClaim(call, await this.#claims.claim(left, request.types));
    return settled;
  }

  async #beat(runs: readonly BullRun[]): Promise<readonly [BullRun[], BullRun[]]> {
    await this.#forge.ready();
    const kept = await this.#keep(runs);
    await Promise.all(this.#queues.map((queue) => queue.store.moveStalledJobsToWait()));
    return kept;
  }

  /** Ends a run. If `nexts` is given, the next job of its queue is taken as well, and added to it. */
  async #end(ended: EndedRun, run: BullRun | undefined, nexts: Next[] | undefined): Promise<SettledRun> {
    const known = this.#replies.get(ended);
    if (known !== undefined) return known;
    const { end } = ended;
    if (end === undefined || run === undefined) return { outcome: "stale", status: null };
    // Before the end, because a run that is lost in between is repeated and adds the same children again.
    if (end.status === "succeeded" && end.children !== undefined && !run.isCanceled)
      await this.#forge.add(childrenOf(run, end.children, this.#definitions));
    const definition = this.#definitions.get(run.queue.type);
    const { client } = this.#forge.connection;
    const ending = await endRun(client, run, end, { definition, fetchNext: nexts !== undefined });
    this.#replies.set(ended, ending.reply);
    this.#runs.delete(run);
    if (ending.next !== undefined) nexts?.push({ queue: run.queue, token: run.token, reply: ending.next });
    return ending.reply;
  }

  #keepClaim({ claimed }: Call, claim: Claimed): void {
    claimed.push(claim);
    for (const run of claim.runs) this.#runs.add(run);
  }

  /** Extends the locks of the runs. Returns those that are lost, and those that were canceled. */
  async #keep(runs: readonly BullRun[]): Promise<readonly [BullRun[], BullRun[]]> {
    const { client } = this.#forge.connection;
    const byQueue = new Map<BullQueue, BullRun[]>();
    for (const run of runs) byQueue.set(run.queue, [...(byQueue.get(run.queue) ?? []), run]);
    const lost: BullRun[] = [];
    const canceled: BullRun[] = [];
    await Promise.all(
      [...byQueue].map(async ([queue, some]) => {
        const ids = some.map(({ id }) => id);
        const tokens = some.map(({ token }) => token);
        const failed = await queue.store.extendLocks(ids, tokens, queue.leaseMs);
        const flags = await Promise.all(ids.map((id) => client.hexists(queue.jobKey(id), cancelField)));
        for (const [place, run] of some.entries()) {
          if (failed.includes(run.id)) lost.push(run);
          else if (flags[place] === 1) {
            run.isCanceled = true;
            canceled.push(run);
          }
        }
      }),
    );
    return [lost, canceled];
  }
}

function respond(settled: readonly SettledRun[], claims: readonly Claimed[]): SettleResponse {
  const due = claims.map(({ nextDueAt }) => nextDueAt).filter((time) => time !== undefined);
  return {
    settled,
    jobs: claims.flatMap(({ runs }) => runs.map(toClaimed)),
    hint: undefined,
    next_due_at: due.length === 0 ? null : new Date(Math.min(...due)).toISOString(),
    now: new Date().toISOString(),
    ...(claims.some(({ more }) => more) ? { more: true } : {}),
  };
}
