/**
 * The series of one metric, by their labels. Types come from callers, so their number has no natural bound: the number
 * of series has one, and with it the memory of the server and the size of a response.
 */

export type Labels = Readonly<Record<string, string>>;

/** The label for everything that has no series of its own. No type and no tenant has this name. */
export const rest = "*";

/** How many series a metric has, apart from the rest. */
export const maxSeries = 1000;
/** A series that has not changed for this long makes room for a new one. */
const idleMs = 10 * 60 * 1000;
/** A series that has not changed for this long is removed. */
const lifetimeMs = 24 * 60 * 60 * 1000;

export interface SeriesOptions {
  /** Removes a series from the metric. */
  readonly remove: (labels: Labels) => void;
  /** Counts a series that was removed, or a measurement that was added to the rest. */
  readonly drop: (reason: "removed" | "full") => void;
  readonly now?: () => number;
}

interface Entry {
  readonly labels: Labels;
  changedAt: number;
}

export class Series {
  readonly #options: SeriesOptions;
  readonly #now: () => number;
  /** In the order of the last change, the oldest first. */
  readonly #entries: Map<string, Entry> = new Map();

  constructor(options: SeriesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the labels under which a change is counted: the given ones, or those of the rest if the metric is full. */
  placeOf(labels: Labels): Labels {
    if (labels["type"] === rest) return labels;
    const key = JSON.stringify(labels);
    const now = this.#now();
    this.#removeUnchangedSince(now - lifetimeMs);
    if (!this.#entries.delete(key) && this.#entries.size >= maxSeries) {
      this.#removeUnchangedSince(now - idleMs, 1);
      if (this.#entries.size >= maxSeries) {
        this.#options.drop("full");
        return Object.fromEntries(Object.keys(labels).map((name) => [name, rest]));
      }
    }
    this.#entries.set(key, { labels, changedAt: now });
    return labels;
  }

  #removeUnchangedSince(time: number, most = Number.POSITIVE_INFINITY): void {
    let removed = 0;
    for (const [key, { labels, changedAt }] of this.#entries) {
      if (changedAt > time || removed >= most) return;
      this.#entries.delete(key);
      this.#options.remove(labels);
      this.#options.drop("removed");
      removed += 1;
    }
  }
}
