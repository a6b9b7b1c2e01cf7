/** A histogram that takes many measurements at once, because the database or the workers have already counted them. */
import type { LatencyBin } from "@jobforge/worker-ts";
import type { Histogram, Registry } from "prom-client";
import type { Labels } from "./series.ts";

interface Bins {
  readonly labels: Labels;
  /** One count for each bin, and one for longer measurements. */
  readonly counts: number[];
  seconds: number;
}

interface Line {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export class TimeHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = "histogram";
  /** The upper limits of the bins, in seconds. */
  readonly #limits: readonly number[];
  readonly #series: Map<string, Bins> = new Map();

  constructor(registry: Registry, name: string, help: string, limits: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#limits = limits;
    // The registry uses only the name of a metric and the result of `get`.
    registry.registerMetric(this as unknown as Histogram);
  }

  /**
   * Adds `count` measurements with a mean of `seconds`. All must belong to the same bin, so that sums and counts are
   * exact.
   */
  add(labels: Labels, count: number, seconds: number): void {
    if (count <= 0) return;
    const key = JSON.stringify(labels);
    const series = this.#series.get(key) ?? { labels, counts: [...this.#limits, 0].map(() => 0), seconds: 0 };
    this.#series.set(key, series);
    const found = this.#limits.findIndex((limit) => seconds <= limit);
    const place = found < 0 ? this.#limits.length : found;
    series.counts[place] = (series.counts[place] ?? 0) + count;
    series.seconds += count * seconds;
  }

  /** Adds calls that a worker has counted in bins with the same limits. */
  addCalls(bins: readonly LatencyBin[]): void {
    for (const [count, seconds] of bins) this.add({}, count, count === 0 ? 0 : seconds / count);
  }

  /** Removes a series. */
  remove(labels: Labels): void {
    this.#series.delete(JSON.stringify(labels));
  }

  async get(): Promise<object> {
    const values = [...this.#series.values()].flatMap((series) => this.#lines(series));
    return { name: this.name, help: this.help, type: this.type, values, aggregator: "sum" };
  }

  #lines({ labels, counts, seconds }: Bins): Line[] {
    let count = 0;
    const bins = counts.map((each, place) => {
      count += each;
      const le = this.#limits[place] ?? "+Inf";
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...bins,
      { metricName: `${this.name}_sum`, labels, value: seconds },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
