import { DatabaseSync } from "node:sqlite";
import { Punctual } from "../../../src/index.ts";
import { TestClock } from "../../../src/testing/index.ts";
import { AWKWARD_NAME, defineShop, HOSTILE_TEXT, type World } from "./shop.ts";

/** Simulated time between two passes, which is the period of the most frequent schedule. */
const STEP = 5 * 60_000;

export interface SeedOptions {
  /** Length of the past that is simulated. Default: 26 hours. */
  hours?: number;
  now?: number;
  /** Whether one run has text that tries to break the page. Default: true. */
  hostile?: boolean;
}

/** Ids of runs that tests and screenshots open. */
export interface Seeded {
  failed: number;
  retrying: number;
  imported: number;
  exported: number;
  hostile: number;
  exact: number;
  waiting: number;
  scheduled: number;
  cancelled: number;
  crashed: number;
  /** A batch with a failed member, and one that is open. */
  batch: number;
  openBatch: number;
}

/** JSON that `JSON.parse` would change: integers above 2^53, numeric keys, a key that occurs twice. */
export const EXACT_JSON =
  '{"id":9223372036854775807,"b":1,"10":"ten","2":"two","b":-0.10,"tiny":1e-400,"list":[]}';

/**
 * Fills a SQLite database with a day of a shop's runs by executing them in simulated time, so that each row is one that
 * a worker wrote. The last hours have an outage of the mail server, a backlog and a paused queue.
 */
export async function seed(
  file: string,
  { hours = 26, now = Date.now(), hostile = true }: SeedOptions = {},
): Promise<Seeded> {
  const clock = new TestClock(new Date(now - hours * 3600_000));
  const random = randomFrom(4711);
  const jobs = new Punctual(`sqlite:${file}`, { clock, random, logger: false });
  const world: World = {
    sleep: (ms) => new Promise((resolve) => clock.after(ms, () => resolve())),
    random,
    outage: () => clock.now() > now - 2.2 * 3600_000,
  };
  defineShop(jobs, world);
  await jobs.install();
  const simulation = new Simulation(jobs, clock, random);
  while (clock.now() < now - STEP - 60_000) await simulation.step();
  for (const [shop, orders] of Object.entries({ harbour: 3, linden: 1, nordwind: 3 }))
    for (let order = 1; order <= orders; order++) jobs.dispatch("shop.push-order", { shop, order });
  await simulation.pass(1000);
  const ids = await endOfDay(simulation, file, { now, hostile });
  await jobs.stop();
  await abandonWorker(file, now);
  writeExactJson(file, ids);
  return ids;
}

/** A generator of Park and Miller: the same numbers in every seeding. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

class Simulation {
  readonly jobs: Punctual;
  readonly clock: TestClock;
  readonly #random: () => number;
  #invoice = 1000;

  constructor(jobs: Punctual, clock: TestClock, random: () => number) {
    this.jobs = jobs;
    this.clock = clock;
    this.#random = random;
  }

  /** Dispatches what a shop dispatches in a few minutes, and executes all that is due. */
  async step(): Promise<void> {
    const hour = new Date(this.clock.now()).getUTCHours();
    const load = 1 + Math.round(this.#random() * (hour > 7 && hour < 20 ? 5 : 1));
    for (let n = 0; n < load; n++) {
      this.invoice();
      this.jobs
        .dispatch("image.thumbnail", { image: `products/${this.#invoice}.webp`, width: 320 })
        .tags("webp");
    }
    if (this.#random() < 0.4) this.jobs.dispatch("mail.welcome", { to: `ada+${this.#invoice}@example.com` });
    if (this.#random() < 0.03)
      this.jobs.dispatch("mail.welcome", { to: `gone-${this.#invoice}@example.com` });
    if (this.#random() < 0.2) this.charge(this.#random() < 0.2 ? -5 : 42);
    // Retries come 20 seconds after a failure.
    for (let part = 0; part < 5; part++) await this.pass(STEP / 5);
  }

  invoice(): void {
    const number = ++this.#invoice;
    this.jobs
      .dispatch("mail.send-invoice", {
        customerId: 4000 + (number % 97),
        invoice: `A-${number}`,
        to: `customer-${number % 97}@example.com`,
        password: "hunter2",
      })
      .tags("billing", `region:${number % 2 === 0 ? "eu" : "us"}`)
      .unique(`invoice:A-${number}`);
  }

  charge(amount: number): void {
    this.jobs
      .dispatch(AWKWARD_NAME, { invoice: `A-${this.#invoice}`, amount })
      .key(`tenant/${this.#invoice % 5}`);
  }

  /** Executes due runs for `duration` of simulated time. */
  async pass(duration: number): Promise<void> {
    const end = this.clock.now() + duration;
    let busy = true;
    const worker = this.jobs.run({ batch: 200, parallel: 20 }).finally(() => {
      busy = false;
    });
    while (busy && this.clock.now() < end + 600_000) await this.clock.advance("500ms");
    await worker;
    if (this.clock.now() < end) await this.clock.advance(`${end - this.clock.now()}ms`);
  }
}

/** Leaves the database as operators find it on a bad day, with runs in every state. */
async function endOfDay(
  simulation: Simulation,
  file: string,
  { now, hostile: isHostile }: { now: number; hostile: boolean },
): Promise<Seeded> {
  const { jobs, clock } = simulation;
  const one = async (name: string, args: unknown) => (await jobs.dispatch(name, args)).id;
  const imported = await one("import.customers", { file: "customers-2026-11.csv", rows: 4000 });
  const exported = await one("export.catalogue", { products: 3000 });
  const hostile = isHostile
    ? await one("hostile", { [HOSTILE_TEXT]: HOSTILE_TEXT, list: [HOSTILE_TEXT] })
    : 0;
  const exact = await one(AWKWARD_NAME, { invoice: "A-1", amount: 1 });
  for (let n = 0; n < 3; n++) await one("mail.welcome", { to: `gone-${n}@example.com` });
  const cancelled = (await jobs.dispatch("image.thumbnail", { image: "no.webp", width: 1 }).delay("1h")).id;
  await jobs.cancel(cancelled);
  const crashed = await crash(file, clock.now());
  const thumbnail = jobs.declare("image.thumbnail");
  const batch = await jobs
    .batch("spring catalogue")
    .add(
      ...Array.from({ length: 5 }, (_, n) =>
        thumbnail.draft().args({ image: `spring/${n}.webp`, width: 320 }),
      ),
    )
    .add(jobs.declare("mail.welcome").draft().args({ to: "gone-77@example.com" }))
    .onSuccess(jobs.declare("export.catalogue").draft().args({ products: 20 }))
    .onFailure(thumbnail.draft().args({ image: "alert.webp", width: 1 }))
    .onFinish(thumbnail.draft().args({ image: "cover.webp", width: 1280 }));
  await simulation.pass(120_000);
  await clock.advance(`${Math.max(0, now - 60_000 - clock.now())}ms`);

  for (let n = 0; n < 12; n++) simulation.invoice();
  await simulation.pass(8000);
  const { runs: retrying } = await jobs.runs({ where: "is:retrying", limit: 1 });
  const { runs: failed } = await jobs.runs({ where: "state:failed job:mail.send-invoice", limit: 1 });
  await clock.advance(`${Math.max(0, now - 20_000 - clock.now())}ms`);
  await jobs.pauseQueue("mail", { for: "2h", by: "ana", reason: "the mail provider is down, ticket 4711" });
  await jobs.pauseJob(AWKWARD_NAME, { by: "ben", reason: "wrong VAT" });
  await jobs.pauseSchedule("digest.weekly", { by: "ana", reason: "holidays" });
  for (let n = 0; n < 40; n++) simulation.invoice();
  for (let n = 0; n < 300; n++) {
    jobs.dispatch("image.thumbnail", { image: `import/${n}.webp`, width: 640 }).tags("import");
  }
  const waiting = (await jobs.dispatch("image.thumbnail", { image: "last.webp", width: 64 })).id;
  const scheduled = (await jobs.dispatch("import.customers", { file: "tomorrow.csv", rows: 10 }).delay("9h"))
    .id;
  const openBatch = await jobs
    .batch("autumn catalogue")
    .open()
    .add(
      ...Array.from({ length: 3 }, (_, n) =>
        thumbnail.draft().args({ image: `autumn/${n}.webp`, width: 320 }),
      ),
    )
    .onFinish(jobs.declare("export.catalogue").draft().args({ products: 20 }));
  return {
    batch: batch.id,
    openBatch: openBatch.id,
    failed: failed[0]!.id,
    retrying: retrying[0]!.id,
    imported,
    exported,
    hostile,
    exact,
    waiting,
    scheduled,
    cancelled,
    crashed,
  };
}

/** Lets a worker die with a run, which the next worker takes back when the lease ends. Returns the run's id. */
async function crash(file: string, now: number): Promise<number> {
  const clock = new TestClock(new Date(now - 30_000));
  const jobs = new Punctual(`sqlite:${file}`, { clock, logger: false });
  const rebuild = jobs
    .define("search.rebuild", () => new Promise(() => {}))
    .lease("5s")
    .attempts(3);
  const started = new Promise((resolve) => jobs.on("run.started", resolve));
  const { id } = await rebuild.dispatch({ index: "products" });
  void jobs.forever({ signals: false, schedules: false });
  await clock.advance("2s");
  await started;
  return id;
}

/** Starts a worker whose process seems to have died: it holds a run, and its clock stands still. */
async function abandonWorker(file: string, now: number): Promise<void> {
  const clock = new TestClock(new Date(now - 240_000));
  const jobs = new Punctual(`sqlite:${file}`, { clock, logger: false });
  jobs
    .define("import.legacy", (_args, run) => {
      run.log("reading the old database");
      run.progress({ done: 120, of: 900 });
      return new Promise(() => {});
    })
    .queue("imports")
    .lease("1h")
    .everyMinute();
  const started = new Promise((resolve) => jobs.on("run.started", resolve));
  await jobs.dispatch("import.legacy", { source: "oracle" });
  void jobs.forever({ queues: ["imports"], signals: false });
  await clock.advance("2s");
  await started;
  await clock.advance("3s");
}

function writeExactJson(file: string, { exact }: Seeded): void {
  const db = new DatabaseSync(file);
  db.exec("pragma busy_timeout = 5000");
  for (const table of db
    .prepare("select name from sqlite_schema where name like '%history' and type = 'table'")
    .all()) {
    db.prepare(`update ${table.name} set args = ?, result = ? where id = ?`).run(
      EXACT_JSON,
      EXACT_JSON,
      exact,
    );
  }
  db.close();
}

if (process.argv[1] === import.meta.filename) {
  const file = process.argv[2] ?? "dashboard-demo.db";
  console.log(await seed(file));
  process.exit();
}
