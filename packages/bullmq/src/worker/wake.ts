/**
 * Waits for BullMQ's markers, one connection per tenant group. A queue that gets a job, or a job with an earlier due
 * time, sets its marker, and the worker that takes the marker first is woken. So a worker waits for markers only while
 * it is idle. The guarantee is the worker's poll.
 */
import { sleep } from "@jobforge/sdk-ts";
import type { WakeEvents } from "@jobforge/worker-ts/runtime";
import type { RedisClient } from "../connection.ts";
import type { BullQueue } from "../queues.ts";

/** How long one command waits, in seconds. A connection that has died unnoticed is replaced after that. */
const blockSeconds = 5;
const retryMs = 500;

export interface WakeParts {
  readonly queues: readonly BullQueue[];
  readonly events: WakeEvents;
  readonly open: () => RedisClient;
  /** The queue has a job. */
  readonly wake: (queue: BullQueue) => void;
}

export class Markers {
  readonly #parts: WakeParts;
  readonly #clients: RedisClient[];
  readonly #stop = new AbortController();
  #isIdle = false;
  #onIdle = new AbortController();

  constructor(parts: WakeParts) {
    this.#parts = parts;
    const byGroup = new Map<number, BullQueue[]>();
    for (const queue of parts.queues) byGroup.set(queue.group, [...(byGroup.get(queue.group) ?? []), queue]);
    this.#clients = [...byGroup.values()].map((queues) => {
      const client = parts.open();
      void this.#watch(client, queues);
      return client;
    });
    parts.events.onState("up");
  }

  setIdle(isIdle: boolean): void {
    this.#isIdle = isIdle;
    if (!isIdle) return;
    this.#onIdle.abort();
    this.#onIdle = new AbortController();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#onIdle.abort();
    for (const client of this.#clients) client.disconnect();
  }

  async #watch(client: RedisClient, queues: readonly BullQueue[]): Promise<void> {
    const keys = new Map(queues.map((queue) => [queue.store.toKey("marker"), queue]));
    while (!this.#stop.signal.aborted) {
      if (!this.#isIdle) {
        await sleep(blockSeconds * 1000, this.#onIdle.signal);
        continue;
      }
      try {
        const found = await client.bzpopmin(...keys.keys(), blockSeconds);
        const queue = found === null ? undefined : keys.get(found[0]);
        if (queue !== undefined) this.#found(queue, Number(found?.[2]));
      } catch {
        await sleep(retryMs, this.#stop.signal);
      }
    }
  }

  /** A marker's score is 0 for a job that is due, or the time when the next job becomes due. */
  #found(queue: BullQueue, score: number): void {
    const { events, wake } = this.#parts;
    const isLater = score > Date.now();
    if (!isLater) wake(queue);
    events.onDue(queue.type, isLater ? new Date(score).toISOString() : undefined);
  }
}
