/**
 * Gathers single enqueues. The calls of one turn of the event loop, and calls that come while others are under way, are
 * sent together as one statement with one commit. Each caller gets its own outcome or error. A call that is alone is
 * sent at once, as it is. A job that the gathered statement rejects is sent alone, so that it gets its own error, or
 * waits for its key without making others wait.
 */
import { ConnectionError } from "../errors.ts";
import { JsonText } from "../json.ts";
import type { Transport } from "../transport/transport.ts";
import { dueOf, type EnqueuedRow, enqueueOne } from "./enqueue-one.ts";
import { jobJson, type PreparedJob } from "./prepare.ts";
import type { Waker } from "./wake.ts";

/** Two statements at once use two cores of the server, and larger batches are cheaper than more statements. */
const lanes = 2;
/** A statement that takes longer, such as one that waits for a key, no longer occupies its lane. */
const slowMs = 100;
const maxJobs = 500;
const maxBytes = 1024 * 1024;

interface Call {
  readonly job: PreparedJob;
  resolve(row: EnqueuedRow): void;
  reject(error: unknown): void;
}

type EachRow = EnqueuedRow | { readonly outcome: "rejected" };

export class Gatherer {
  readonly #transport: Transport;
  readonly #waker: Waker;
  #waiting: Call[] = [];
  /** When each statement that is under way was sent. */
  readonly #underWay = new Map<Promise<void>, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(transport: Transport, waker: Waker) {
    this.#transport = transport;
    this.#waker = waker;
  }

  /** Enqueues a job together with those of other callers. Jobs of one tenant and turn keep the order of the calls. */
  enqueue(job: PreparedJob): Promise<EnqueuedRow> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      // After the code that makes the calls of this turn, and before anything else.
      if (this.#waiting.length === 1) queueMicrotask(() => this.#send());
    });
  }

  /** Resolves when no call waits or is under way. */
  async settled(): Promise<void> {
    while (this.#waiting.length > 0 || this.#underWay.size > 0) await Promise.all(this.#underWay.keys());
  }

  #send(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      const sent: Promise<void> = this.#deliver(this.#take()).finally(() => {
        this.#underWay.delete(sent);
        this.#send();
      });
      this.#underWay.set(sent, performance.now());
    }
    if (this.#waiting.length > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#send();
      }, slowMs);
    }
  }

  #hasRoom(): boolean {
    const slow = performance.now() - slowMs;
    let occupied = 0;
    for (const sentAt of this.#underWay.values()) if (sentAt > slow) occupied++;
    return occupied < lanes;
  }

  #take(): Call[] {
    let bytes = 0;
    let count = 0;
    for (const { job } of this.#waiting) {
      bytes += job.payload.text.length;
      if (count === maxJobs || (count > 0 && bytes > maxBytes)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  /** Sends calls and passes each its outcome. Never rejects. */
  async #deliver(calls: readonly Call[]): Promise<void> {
    const [only] = calls;
    if (only !== undefined && calls.length === 1) {
      await this.#alone(only);
      return;
    }
    const types = [...new Set(calls.map(({ job }) => job.type))];
    // Every type is asked: each remembers that it was notified.
    const notifies = types.filter((type) => this.#waker.leads(type)).length > 0;
    const rows = await this.#transport
      .call<EachRow[]>("jobforge_enqueue_each", {
        p_tenant_ids: calls.map(({ job }) => job.tenantId),
        p_jobs: new JsonText(`[${calls.map(({ job }) => jobJson(job).text).join()}]`),
        p_notify: notifies ? undefined : false,
      })
      .catch(asError);
    await this.#pass(calls, notifies, rows);
  }

  async #alone(call: Call): Promise<void> {
    await enqueueOne(this.#transport, this.#waker, call.job).then(call.resolve, call.reject);
  }

  /** `notifies`: the statement itself has notified. */
  async #pass(calls: readonly Call[], notifies: boolean, reply: readonly EachRow[] | Error): Promise<void> {
    // It is unknown whether the jobs exist, so they must not be sent again.
    if (reply instanceof ConnectionError) {
      for (const call of calls) call.reject(reply);
      return;
    }
    const rows = reply instanceof Error ? [] : reply;
    const rejected: Call[] = [];
    for (const [index, call] of calls.entries()) {
      const row = rows[index];
      if (row === undefined || row.outcome === "rejected") rejected.push(call);
      else {
        if (!notifies) this.#waker.follow(call.job.type, dueOf(call.job, row));
        call.resolve(row);
      }
    }
    await Promise.all(rejected.map((call) => this.#alone(call)));
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
