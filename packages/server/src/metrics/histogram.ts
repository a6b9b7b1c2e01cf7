/** A histogram to which many measurements are added at once: what is shown was counted elsewhere, by the database or by workers. */
import type { LatencyBin as LatencyBucket } from "@jobforge/worker-ts";
import type { Histogram, Registry } from "prom-client";

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  /** For each limit, and for what is longer. */
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
  readonly #limits: readonly number[];
  readonly #series: Map<string, Series> = new Map();

  constructor(registry: Registry, name: string, help: string, limits: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#limits = limits;
    // Of a metric the registry wants its name and what `get` answers.
    registry.registerMetric(this as unknown as Histogram);
  }

  /** So many measurements of so many seconds on average. All must lie in the bucket of the average: then sums and counts are exact. */
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

  /** Calls as workers count them, in buckets with the same limits. */
  addCalls(buckets: readonly LatencyBucket[]): void {
    for (const [count, seconds] of buckets) this.add({}, count, count === 0 ? 0 : seconds / count);
  }

  async get(): Promise<object> {
    const values = [...this.#series.values()].flatMap((series) => this.#lines(series));
    return { name: this.name, help: this.help, type: this.type, values, aggregator: "sum" };
  }

  #lines({ labels, counts, seconds }: Series): Line[] {
    let count = 0;
    const buckets = counts.map((each, place) => {
      count += each;
      const le = this.#limits[place] ?? "+Inf";
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: seconds },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
