import type { Punctual, RunContext } from "../../../src/index.ts";

/** A name with characters that an address must encode. */
export const AWKWARD_NAME = "billing/charge v2.0 & more";

/** Text that must be shown, never executed or obeyed: markup, terminal escapes, right-to-left overrides. */
export const HOSTILE_TEXT =
  '</script><img src=x onerror="document.title=1"> \u001b[31mred\u001b[0m \u202eevil\u202c שלום {{7*7}}';

class SmtpError extends Error {
  override name = "SmtpError";
  readonly code = "ETIMEDOUT";
}

class RateLimitError extends Error {
  override name = "RateLimitError";
}

/** Sources of time and chance, so that the same jobs run in simulated and in real time. */
export interface World {
  sleep(ms: number): Promise<void>;
  /** A number from 0 to 1. */
  random(): number;
  /** Whether the mail server and the map service are down. */
  outage(): boolean;
}

/** Defines the jobs of a shop: fast and slow ones, failing ones, schedules, children, progress, logs. */
export function defineShop(jobs: Punctual, world: World): void {
  defineMail(jobs, world);
  defineSchedules(jobs, world);
  defineImports(jobs, world);

  jobs
    .define("image.thumbnail", async (args: { image: string; width: number }) => {
      await world.sleep(200 + world.random() * 900);
      return { image: args.image, bytes: 1000 + Math.floor(world.random() * 50_000) };
    })
    .queue("media")
    .concurrency(4)
    .priority(200);

  jobs
    .define(AWKWARD_NAME, async (args: { invoice: string; amount: number }, run) => {
      run.log("charging", { invoice: args.invoice });
      await world.sleep(300 + world.random() * 400);
      if (args.amount < 0) throw new TypeError(`Amount must be positive, got ${args.amount}`);
      return { charged: args.amount };
    })
    .concurrency(0, { perKey: 1 });

  jobs
    .define("shop.push-order", async (_args: { shop: string; order: number }) => {
      await world.sleep(80);
    })
    .queue("shop api")
    .concurrency(0)
    .rate(200, "1h", { burst: 50, perKey: 3, by: ({ shop }) => shop });
  jobs.queue("shop api", { rate: { limit: 60, per: "1h" } });

  jobs
    .define("search.rebuild", async (_args: { index: string }, run) => {
      run.log(`attempt ${run.attempt} after ${run.crashes} crashes`);
      await world.sleep(5000);
    })
    .lease("5s")
    .attempts(3);

  jobs
    .define("hostile", async (args: unknown, run) => {
      run.log(HOSTILE_TEXT, { args });
      run.progress(HOSTILE_TEXT);
      await world.sleep(50);
      throw new Error(HOSTILE_TEXT);
    })
    .queue("odd <b>queue</b>");
}

function defineMail(jobs: Punctual, world: World): void {
  jobs
    .define("mail.send-invoice", async (args: { customerId: number; invoice: string; to: string }, run) => {
      run.log("connecting", { host: "smtp.example.com", port: 587 });
      await world.sleep(world.outage() ? 3000 : 150 + world.random() * 500);
      // Some never arrive: whenever the outage was simulated, there are invoices that have failed and that are retried.
      const isLost = Number(args.invoice.slice(2)) % 7 === 0;
      if (world.outage() && (isLost || world.random() < 0.55)) sendFailed(run);
      run.log(`sent ${args.invoice}`, { to: args.to });
      return { messageId: `<${run.id}@shop.example>` };
    })
    .queue("mail")
    .concurrency(6)
    .timeout("30s")
    .attempts({ max: 4, base: 20, cap: 120, jitter: "none" })
    .keep("7 days");

  jobs
    .define("mail.welcome", async (args: { to: string }) => {
      await world.sleep(80 + world.random() * 200);
      if (args.to.startsWith("gone")) throw new Error(`550 mailbox unavailable: ${args.to}`);
    })
    .queue("mail")
    .concurrency(0)
    .keep("7 days");
}

function sendFailed(run: RunContext): never {
  run.log("no answer from the mail server");
  const cause = Object.assign(new Error("connect ETIMEDOUT 10.0.0.5:587"), { code: "ETIMEDOUT" });
  throw new SmtpError("The mail server did not answer within 3 s", { cause });
}

function defineSchedules(jobs: Punctual, world: World): void {
  const work = (ms: number) => async () => {
    await world.sleep(ms * (0.7 + world.random() * 0.6));
  };
  jobs.define("sync.payments", work(1100)).everyFiveMinutes().keep("7 days");
  jobs.define("report.nightly", work(95_000)).queue("reports").dailyAt("02:30").timezone("Europe/Berlin");
  jobs.define("rollup.hourly", work(8000)).queue("reports").hourly();
  jobs.define("digest.weekly", work(4000)).queue("mail").weeklyOn(1, "09:00").timezone("America/New_York");
  jobs
    .define("geo.refresh", async () => {
      await world.sleep(600);
      if (world.outage())
        throw new RateLimitError(`429 for key 7f${Math.floor(world.random() * 1e6)}: retry later`);
    })
    .everyFifteenMinutes();
  jobs
    .define("cleanup.carts", work(2500))
    .hourlyAt(10)
    .when(() => world.random() < 0.7);
}

function defineImports(jobs: Punctual, world: World): void {
  jobs
    .define("import.customers", async (args: { file: string; rows: number }, run) => {
      run.log("file opened", { file: args.file });
      for (let done = 0; done <= args.rows; done += 250) {
        run.progress({ done, of: args.rows });
        run.log(
          `${done} of ${args.rows} rows`,
          done % 1000 === 0 ? { heap: 48_000_000 + done * 100 } : undefined,
        );
        await world.sleep(400);
        if (run.signal.aborted) run.discard("aborted");
        if (done % 1500 === 0 && done > 0) {
          jobs.dispatch("mail.welcome", { to: `customer-${done}@example.com` }).tags("import");
        }
      }
      return { imported: args.rows, rejected: 3 };
    })
    .queue("imports")
    .concurrency(2)
    .timeout("10m")
    .lease("1h");

  jobs
    .define("export.catalogue", async (args: { products: number }) => {
      await world.sleep(1200);
      return Array.from({ length: args.products }, (_, index) => ({
        sku: `A-${1000 + index}`,
        price: { amount: (index * 7) % 500, currency: "EUR" },
        tags: ["new", "sale"].slice(0, index % 3),
        description: index % 50 === 0 ? "A chair. ".repeat(80) : null,
      }));
    })
    .queue("imports");
}
