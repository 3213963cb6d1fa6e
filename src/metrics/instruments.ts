import type { Family, Sample } from "./prometheus.ts";

/**
 * Label value for all names beyond the cap. Prometheus keeps each set of labels as a series for weeks, so their number
 * must be bounded.
 */
export const OTHERS = "(others)";

/** Values by labels, for at most `cap` sets of job and queue names; further names share one value. */
class LabelledValues<Value> {
  readonly #found = new Map<string, { labels: Record<string, string>; value: Value }>();
  readonly #names = new Set<string>();
  readonly #initial: () => Value;
  readonly #cap: number;

  constructor(initial: () => Value, cap: number) {
    this.#initial = initial;
    this.#cap = cap;
  }

  at(labels: Record<string, string>): { value: Value } {
    const known = this.#found.get(keyOf(labels));
    if (known) return known;
    const named = this.#admits(labels) ? labels : withoutNames(labels);
    const key = keyOf(named);
    const one = this.#found.get(key) ?? { labels: named, value: this.#initial() };
    this.#found.set(key, one);
    return one;
  }

  #admits(labels: Record<string, string>): boolean {
    const names = JSON.stringify(Object.entries(labels).filter(([label]) => NAMES.has(label)));
    if (this.#names.size < this.#cap) this.#names.add(names);
    return this.#names.has(names);
  }

  values(): Iterable<{ labels: Record<string, string>; value: Value }> {
    return this.#found.values();
  }
}

/** Labels with an unbounded number of values; an outcome is one of a few. */
const NAMES = new Set(["job", "queue"]);

function withoutNames(labels: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [name, NAMES.has(name) ? OTHERS : value]),
  );
}

function keyOf(labels: Record<string, string>): string {
  return JSON.stringify(Object.values(labels));
}

/** A Prometheus counter: its values only grow. */
export class Counter {
  readonly #name: string;
  readonly #help: string;
  readonly #counts: LabelledValues<number>;

  constructor(name: string, help: string, cap: number) {
    this.#name = name;
    this.#help = help;
    this.#counts = new LabelledValues(() => 0, cap);
  }

  add(labels: Record<string, string>, by = 1): void {
    this.#counts.at(labels).value += by;
  }

  family(): Family {
    const samples = [...this.#counts.values()].map(({ labels, value }): Sample => ({ labels, value }));
    return { name: this.#name, type: "counter", help: this.#help, samples };
  }
}

/** Upper bounds of the buckets in seconds: from a cache lookup to a nightly export. */
export const BUCKETS: number[] = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200];

/** A Prometheus histogram of durations. */
export class HistogramMetric {
  readonly #name: string;
  readonly #help: string;
  readonly #distributions: LabelledValues<{ counts: number[]; sum: number; count: number }>;

  constructor(name: string, help: string, cap: number) {
    this.#name = name;
    this.#help = help;
    this.#distributions = new LabelledValues(() => ({ counts: BUCKETS.map(() => 0), sum: 0, count: 0 }), cap);
  }

  observe(labels: Record<string, string>, seconds: number): void {
    const { value } = this.#distributions.at(labels);
    const bucket = BUCKETS.findIndex((end) => seconds <= end);
    if (bucket >= 0) value.counts[bucket]!++;
    value.sum += seconds;
    value.count++;
  }

  family(): Family {
    const samples: Sample[] = [];
    for (const { labels, value } of this.#distributions.values()) {
      let below = 0;
      for (const [index, end] of BUCKETS.entries()) {
        below += value.counts[index]!;
        samples.push({ suffix: "_bucket", labels: { ...labels, le: String(end) }, value: below });
      }
      samples.push({ suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: value.count });
      samples.push({ suffix: "_sum", labels, value: value.sum });
      samples.push({ suffix: "_count", labels, value: value.count });
    }
    return { name: this.#name, type: "histogram", help: this.#help, samples };
  }
}
