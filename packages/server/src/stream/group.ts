/** Clients with the same token and filter see the same jobs, so one poll of the database serves all of them. */
import { failureOf } from "../errors.ts";
import type { Changes, FinishedJob, Snapshot } from "./snapshot.ts";

/** One message of a stream. The id is a cursor, with which a disconnected client continues. */
export interface Message {
  readonly event: "changed" | "finished" | "workflow" | "changes" | "end";
  readonly id: string;
  readonly data: object;
}

export type Subscriber = (messages: readonly Message[]) => void;

export type ReadSince = (since: string | undefined) => Promise<Snapshot>;

/** The interval between polls: the shortest while something changes, doubled up to the longest while nothing does. */
const minPollMs = 250;
const maxPollMs = 1500;
/** The longest interval while the database cannot be read. */
const maxFailedPollMs = 5000;
const nilId = "00000000-0000-0000-0000-000000000000";

export function cursorOf(finishedAt: string, id: string = nilId): string {
  return `${finishedAt}_${id}`;
}

/** The time in a cursor. Undefined if the text is not a cursor. */
export function timeOf(cursor: string | undefined): string | undefined {
  const [, time] = /^(\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d))_[0-9a-f-]{36}$/.exec(cursor ?? "") ?? [];
  return time;
}

/** What else has changed: the kinds of things, such as `gate` and `worker`. */
export interface News {
  readonly kinds: readonly string[];
  /** There may be further kinds. */
  readonly more: boolean;
}

/** What is new since `before`. Everything is new without `before`, except workers. */
export function newsOf(changes: Changes | null, before?: Changes | null): News {
  if (changes === null) return { kinds: [], more: false };
  const known = new Set(before?.entries.map(({ id }) => id));
  const fresh = changes.entries.filter(({ id }) => !known.has(id));
  const kinds = new Set(fresh.map(({ kind }) => kind));
  if (before != null && JSON.stringify(before.workers) !== JSON.stringify(changes.workers))
    kinds.add("worker");
  return { kinds: [...kinds].sort(), more: changes.more && fresh.length === changes.entries.length };
}

/** The messages for a snapshot: jobs and workflows that finished and were not sent before, counts, what else is new. */
export function messagesOf(
  { at, queued, scheduled, running, exact, more }: Snapshot,
  finished: readonly FinishedJob[],
  news: News,
): Message[] {
  const last = finished.at(-1);
  const jobs = finished.filter(({ kind }) => kind === undefined);
  const id = last === undefined ? cursorOf(at) : cursorOf(last.finished_at, last.id);
  return [
    ...finished.map(({ kind, ...ended }) => ({
      event: kind ?? ("finished" as const),
      id: cursorOf(ended.finished_at, ended.id),
      data: ended,
    })),
    { event: "changed", id, data: { at, queued, scheduled, running, exact, finished: jobs.length, more } },
    ...(news.kinds.length > 0 ? [{ event: "changes" as const, id, data: { at, ...news } }] : []),
  ];
}

export class StreamGroup {
  readonly #readSince: ReadSince;
  readonly #minRestMs: (tookMs: number) => number;
  readonly #onEmpty: () => void;
  readonly #subscribers: Set<Subscriber> = new Set();
  #since: string | undefined;
  #sent: ReadonlySet<string> = new Set();
  /** The counts that all subscribers received last. Undefined if they received different ones. */
  #counts: string | undefined;
  #changes: Changes | null = null;
  #pollMs = minPollMs;
  #timer: NodeJS.Timeout | undefined;

  /**
   * `minRestMs` returns how long to wait at least after a read that took `tookMs`. `onEmpty` is called when the last
   * subscriber has left.
   */
  constructor(readSince: ReadSince, minRestMs: (tookMs: number) => number, onEmpty: () => void) {
    this.#readSince = readSince;
    this.#minRestMs = minRestMs;
    this.#onEmpty = onEmpty;
  }

  /** Sends every message from now on to the subscriber. Returns a function that unsubscribes it. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    // The new subscriber may have read counts that the group has not read yet, so the next poll comes soon.
    this.#pollMs = minPollMs;
    this.#timer ??= setTimeout(() => void this.#poll(), minPollMs);
    return () => {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size === 0) this.#stop();
    };
  }

  /**
   * Says what a new subscriber has read itself. Jobs that finish after that are sent, even if the group's first poll
   * comes late. Counts are sent only if they differ from what the subscriber has read.
   */
  begin(seen: Snapshot): void {
    if (this.#since === undefined) {
      this.#since = seen.at;
      this.#counts = countsOf(seen);
      this.#changes = seen.changes;
    } else if (this.#counts !== countsOf(seen)) this.#counts = undefined;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#subscribers.clear();
    this.#onEmpty();
  }

  async #poll(): Promise<void> {
    const started = performance.now();
    try {
      this.#publish(await this.#readSince(this.#since));
    } catch (error) {
      const { status, failure } = failureOf(error);
      // The token is no longer valid or has lost its rights. All other errors are temporary: the database will be back.
      if (status === 401 || status === 403) {
        this.#send([{ event: "end", id: "", data: { code: failure.code, message: failure.message } }]);
        this.#stop();
        return;
      }
      this.#pollMs = Math.min(this.#pollMs * 2, maxFailedPollMs);
    }
    if (this.#subscribers.size === 0) return;
    const restMs = Math.max(this.#pollMs, this.#minRestMs(performance.now() - started));
    this.#timer = setTimeout(() => void this.#poll(), restMs);
  }

  #publish(snapshot: Snapshot): void {
    const fresh = snapshot.finished.filter((job) => !this.#sent.has(keyOf(job)));
    this.#sent = new Set(snapshot.finished.map(keyOf));
    this.#since = snapshot.finished.at(-1)?.finished_at ?? this.#since ?? snapshot.at;
    const counts = countsOf(snapshot);
    const news = newsOf(snapshot.changes, this.#changes);
    const changed = counts !== this.#counts || fresh.length > 0 || news.kinds.length > 0;
    this.#counts = counts;
    this.#changes = snapshot.changes;
    this.#pollMs = changed ? minPollMs : Math.min(this.#pollMs * 2, maxPollMs);
    if (changed) this.#send(messagesOf(snapshot, fresh, news));
  }

  #send(messages: readonly Message[]): void {
    for (const subscriber of this.#subscribers) subscriber(messages);
  }
}

function countsOf({ queued, scheduled, running }: Snapshot): string {
  return `${queued} ${scheduled} ${running}`;
}

/** The id alone is not enough: a job that was rescheduled may finish twice. */
function keyOf({ id, finished_at }: FinishedJob): string {
  return `${id} ${finished_at}`;
}
