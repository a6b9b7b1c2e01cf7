/** Clients that see the same with the same token and filter are served by one look at the database. */
import { failureOf } from "../errors.ts";
import type { EndedJob, Glance } from "./watch.ts";

/** One message of a stream. The id is the cursor: where a client goes on that was cut off. */
export interface Message {
  readonly event: "changed" | "finished" | "end";
  readonly id: string;
  readonly data: object;
}

export type Subscriber = (messages: readonly Message[]) => void;

export type Look = (since: string | undefined) => Promise<Glance>;

const FASTEST_MS = 250;
const SLOWEST_MS = 2000;
/** While the database is away. */
const PATIENT_MS = 5000;
const NIL = "00000000-0000-0000-0000-000000000000";

export function cursorOf(finishedAt: string, id: string = NIL): string {
  return `${finishedAt}_${id}`;
}

/** The time in a cursor; undefined when it is none. */
export function timeOf(cursor: string | undefined): string | undefined {
  const [, time] = /^(\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d))_[0-9a-f-]{36}$/.exec(cursor ?? "") ?? [];
  return time;
}

/** Messages of a look: the counts, and each job that ended and was not told before. */
export function messagesOf({ at, queued, running, more }: Glance, ended: readonly EndedJob[]): Message[] {
  const last = ended.at(-1);
  const id = last === undefined ? cursorOf(at) : cursorOf(last.finished_at, last.id);
  return [
    ...ended.map((job) => ({ event: "finished" as const, id: cursorOf(job.finished_at, job.id), data: job })),
    { event: "changed", id, data: { at, queued, running, finished: ended.length, more } },
  ];
}

export class StreamGroup {
  readonly #look: Look;
  readonly #rest: (tookMs: number) => number;
  readonly #ended: () => void;
  readonly #subscribers: Set<Subscriber> = new Set();
  #since: string | undefined;
  #told: ReadonlySet<string> = new Set();
  /** What everybody was told of last; nothing when that is not the same for all. */
  #counts: string | undefined;
  #pauseMs = FASTEST_MS;
  #timer: NodeJS.Timeout | undefined;

  /** `rest` says how long to wait at least after a look that took so long; `ended` is called when nobody is left. */
  constructor(look: Look, rest: (tookMs: number) => number, ended: () => void) {
    this.#look = look;
    this.#rest = rest;
    this.#ended = ended;
  }

  /** From now on the subscriber gets every message; the answer ends that. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    // Somebody new may have been told of counts that the group has not seen yet.
    this.#pauseMs = FASTEST_MS;
    this.#timer ??= setTimeout(() => void this.#turn(), FASTEST_MS);
    return () => {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size === 0) this.#stop();
    };
  }

  /**
   * Somebody new was told of what it saw itself. What ended from then on is told, also when the group's own first look comes late, and
   * its counts only when they changed.
   */
  begin(seen: Glance): void {
    if (this.#since === undefined) {
      this.#since = seen.at;
      this.#counts = countsOf(seen);
    } else if (this.#counts !== countsOf(seen)) this.#counts = undefined;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#subscribers.clear();
    this.#ended();
  }

  async #turn(): Promise<void> {
    const started = performance.now();
    try {
      this.#tell(await this.#look(this.#since));
    } catch (error) {
      const { status, failure } = failureOf(error);
      // The token is over, or may not look any more. Everything else passes: the database comes back.
      if (status === 401 || status === 403) {
        this.#send([{ event: "end", id: "", data: { code: failure.code, message: failure.message } }]);
        this.#stop();
        return;
      }
      this.#pauseMs = Math.min(this.#pauseMs * 2, PATIENT_MS);
    }
    if (this.#subscribers.size === 0) return;
    const pause = Math.max(this.#pauseMs, this.#rest(performance.now() - started));
    this.#timer = setTimeout(() => void this.#turn(), pause);
  }

  #tell(seen: Glance): void {
    const fresh = seen.ended.filter((job) => !this.#told.has(keyOf(job)));
    this.#told = new Set(seen.ended.map(keyOf));
    this.#since = seen.ended.at(-1)?.finished_at ?? this.#since ?? seen.at;
    const counts = countsOf(seen);
    const changed = counts !== this.#counts || fresh.length > 0;
    this.#counts = counts;
    this.#pauseMs = changed ? FASTEST_MS : Math.min(this.#pauseMs * 2, SLOWEST_MS);
    if (changed) this.#send(messagesOf(seen, fresh));
  }

  #send(messages: readonly Message[]): void {
    for (const subscriber of this.#subscribers) subscriber(messages);
  }
}

function countsOf({ queued, running }: Glance): string {
  return `${queued} ${running}`;
}

/** A job that came back may end twice. */
function keyOf({ id, finished_at }: EndedJob): string {
  return `${id} ${finished_at}`;
}
