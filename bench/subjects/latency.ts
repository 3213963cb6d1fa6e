// Latency of an idle worker: from the dispatch call in one process to the start of the handler in another one.
import type { Bench, Setup } from "../lib/bench.ts";
import type { Contest, Entry, Goal, Measured, Metric } from "../lib/contest.ts";
import type { ContestantProcess } from "../lib/contestant.ts";
import type { DatabaseKind } from "../lib/databases.ts";
import { quantile } from "../lib/statistics.ts";

const metrics: Metric[] = ["p50", "p95", "p99"].map((name) => ({ name, unit: "ms" }));

/** Milliseconds from one dispatch to the next, on average. */
const PAUSE = 15;

/** All schedulers of one contest, each with a sender and an idle worker. They dispatch in turns. */
class Rivals {
  readonly #bench: Bench;
  readonly #setups: Setup[];
  #round: Promise<Map<Setup, Measured>> | undefined;
  #asked = 0;

  constructor(bench: Bench, setups: Setup[]) {
    this.#bench = bench;
    this.#setups = setups;
  }

  get entries(): Entry[] {
    return this.#setups.map((setup) => ({ name: setup.name, measure: () => this.#measure(setup) }));
  }

  /** The first entry of a round measures all: within milliseconds they see the same machine. */
  async #measure(setup: Setup): Promise<Measured> {
    if (this.#asked++ % this.#setups.length === 0) this.#round = this.#start(this.#setups, []);
    return (await this.#round!).get(setup)!;
  }

  /** Opens the schedulers one inside the other, so that all are closed in the end. */
  #start(left: Setup[], opened: Rival[]): Promise<Map<Setup, Measured>> {
    const [setup, ...rest] = left;
    if (!setup) return this.#compete(opened);
    return this.#bench.using(setup, ({ first: sender, another }) =>
      another(async (worker) => {
        await worker.ask("listen");
        return this.#start(rest, [...opened, { setup, sender, worker }]);
      }),
    );
  }

  async #compete(rivals: Rival[]): Promise<Map<Setup, Measured>> {
    await this.#dispatch(rivals, Math.min(20, this.#count));
    const delays = await this.#dispatch(rivals, this.#count);
    return new Map(rivals.map(({ setup }, index) => [setup, percentiles(delays[index]!)]));
  }

  get #count(): number {
    return this.#bench.pick(200, 5);
  }

  /** Returns the delays of each scheduler, in milliseconds. */
  async #dispatch(rivals: Rival[], count: number): Promise<number[][]> {
    for (let turn = 0; turn < count; turn++) {
      for (const { sender } of rivals) await sender.ask("send", { count: 1, pause: PAUSE });
    }
    return Promise.all(rivals.map(({ worker }) => worker.ask("collect", { count, patience: 10_000 })));
  }
}

interface Rival {
  setup: Setup;
  sender: ContestantProcess;
  worker: ContestantProcess;
}

function percentiles(delays: number[]): Measured {
  if (delays.length === 0) throw new Error("No run started.");
  return { p50: quantile(delays, 0.5), p95: quantile(delays, 0.95), p99: quantile(delays, 0.99) };
}

export async function contests(bench: Bench): Promise<Contest[]> {
  const graphile = "graphile-worker, default";
  const within = (most: number): Goal[] => [{ entry: "Punctual", metric: "p50", most }];
  const sidequest = async (on: "mariadb" | "mysql") => [
    ...(await bench.peer("sidequest", on, "tuned")),
    ...(await bench.peer("sidequest", on, "default")),
  ];
  const all: [on: DatabaseKind, name: string, base: string, peers: () => Promise<Setup[]>, Goal[]][] = [
    [
      "postgres",
      "PostgreSQL",
      graphile,
      // pg-boss by default takes one job every two seconds, however many wait: it is left out.
      async () => [
        ...(await bench.peer("graphile-worker", "postgres", "default")),
        ...(await bench.peer("graphile-worker", "postgres", "tuned")),
        ...(await bench.peer("pg-boss", "postgres", "tuned")),
        ...(await bench.peer("bullmq", "redis", "default")),
      ],
      [
        { entry: "Punctual", metric: "p50", versus: graphile, most: 0.7 },
        { entry: "Punctual", metric: "p99", versus: graphile, most: 1 },
      ],
    ],
    [
      "sqlite",
      "SQLite",
      "plainjob, tuned",
      async () => [
        ...(await bench.peer("plainjob", "sqlite", "tuned")),
        ...(await bench.peer("plainjob", "sqlite", "default")),
      ],
      within(4),
    ],
    ["mariadb", "MariaDB", "sidequest, tuned", () => sidequest("mariadb"), within(10)],
    ["mysql", "MySQL", "sidequest, tuned", () => sidequest("mysql"), within(10)],
  ];
  const found: Contest[] = [];
  for (const [on, name, base, peers, goals] of all.filter(([on]) => bench.isPresent(on))) {
    found.push({
      id: `latency-${on}`,
      title: `Idle latency, dispatch to handler in another process, ${name}`,
      metrics,
      base,
      entries: new Rivals(bench, [...bench.punctual(on), ...(await peers())]).entries,
      goals,
    });
  }
  return found;
}
