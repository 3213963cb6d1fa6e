import { describe, expect, test } from "vitest";
import { createApi } from "../../../src/dashboard/api/api.ts";
import { dashboard } from "../../../src/dashboard/index.ts";
import { toSettings } from "../../../src/dashboard/server/options.ts";
import { Punctual } from "../../../src/index.ts";
import { fresh } from "../support/fresh.ts";
import { minutely } from "../support/minutely.ts";
import { beat, claim, define, insert, times } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/**
 * Rows in each of `runs` and `history`. With the fewer, every read has reached its bound: counts stop at 10,000 runs of
 * each queue, searches without an index after 101,000 rows. The more are too few for another level of PostgreSQL's
 * primary keys, which 10,000 lookups would read 10,000 times.
 */
const FEWER = 104_000;
const MORE = 145_000;

/** Growth of a statement that is no fault: an index of more rows may have one more level. A scan grows by 1.4. */
const TOLERANCE = 1.25;

/**
 * Pages on SQLite, rows and pages on servers: too few to be a scan. PostgreSQL chooses between two small indexes by a
 * random sample of the table.
 */
const few = ({ name }: Database) => (name === "postgres" ? 250 : 20);

/** MySQL and MariaDB get the time that is left as a part of the statement. */
const TIME_LIMIT = /\/\*\+ .* \*\/ |^set statement .* for /;

/** Their reads depend on the other databases of the server. */
const CATALOGUE = /\binformation_schema\./;

/** Ids of seeded runs, far from those of the store. */
const FIRST_FINISHED = 1_000_000;
const FIRST_UNFINISHED = 2_000_000;

/** A batch of all seeded runs, and the first of many without members. */
const LARGE_BATCH = 1;
const FIRST_BATCH = 1000;

const UNFINISHED =
  "id, name, queue, lane, limited, priority, created_at, run_at, state, args, tags, batch_id";
const FINISHED = `${UNFINISHED}, finished_at, attempts, crashes, started_at, error, fingerprint, parent_id, schedule, tick_at`;

/** Routes that read no runs. */
const OTHER_ROUTES = ["meta", "openapi.json", "events", "bulk/:id"].map((path) => `/api/v1/${path}`);

const ready = (n: number) => FIRST_UNFINISHED + 10 * n + 2;
const underLimit = (n: number) => FIRST_UNFINISHED + 10 * n + 5;
const scheduled = FIRST_UNFINISHED + 6;
const due = FIRST_UNFINISHED + 7;
const newest = FIRST_UNFINISHED + MORE;
const completed = FIRST_FINISHED + 1;
const failed = FIRST_FINISHED + 3;

const PATHS = [
  "/overview",
  "/trend",
  "/runs",
  "/runs?q=state:failed",
  "/runs?q=state:ready",
  "/runs?q=job:mail",
  "/runs?q=state:failed%20job:mail",
  "/runs?q=queue:queue3%20state:completed",
  `/runs?q=batch:${LARGE_BATCH}`,
  `/runs?q=batch:${LARGE_BATCH}%20state:failed`,
  "/runs/states",
  `/runs/changes?ids=${ready(1)},${completed}&newest=${newest}`,
  `/runs/${ready(1)}`,
  `/runs/${completed}`,
  `/runs/${failed}`,
  `/runs/${completed}/children`,
  `/runs/${ready(1)}/logs`,
  `/runs/${ready(1)}/payload`,
  "/batches",
  "/batches?show=unfinished",
  `/batches/changes?ids=${LARGE_BATCH},${FIRST_BATCH + 1}&newest=${FIRST_BATCH}`,
  `/batches/${LARGE_BATCH}`,
  "/jobs",
  "/jobs/mail",
  "/queues",
  "/queues/queue3",
  "/rates",
  "/schedules",
  "/schedules/1",
  "/failures",
  "/workers",
  "/audit",
  ...["job", "queue", "tag", "worker", "errortype"].map((field) => `/values?field=${field}`),
];

const READS: ((jobs: Punctual) => Promise<unknown>)[] = [
  (jobs) => jobs.status(),
  // The first run, early ones, a late one, one that is scheduled, one that is due and one that has finished.
  ...[ready(0), ready(500), underLimit(500), ready(5000), scheduled, due, completed].map(
    (id) => (jobs: Punctual) => jobs.why(id),
  ),
  (jobs) => jobs.runs({ where: "tag:none" }),
  (jobs) => jobs.count("tag:none"),
  (jobs) => jobs.runs({ where: "is:late" }),
  (jobs) => jobs.runs({ where: "is:due" }),
  (jobs) => jobs.count("is:due"),
  (jobs) => jobs.runs({ where: "payload.customer:none" }),
];

export function growing(database: Database): void {
  test("every route of the dashboard that reads runs is in the test of growth", () => {
    const { routes } = createApi(new Punctual("sqlite::memory:", { logger: false }), toSettings({}));
    const paths = PATHS.map((path) => `/api/v1${path.split("?")[0]}`);
    const unmeasured = routes
      .filter(({ method, path }) => method === "GET" && !OTHER_ROUTES.includes(path))
      .map(({ path }) => path)
      .filter((path) => !paths.some((one) => new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}$`).test(one)));
    expect(unmeasured).toEqual([]);
  });

  describe("growth", () => {
    const at = fresh(database, "once");

    async function seed(from: number, to: number): Promise<void> {
      const now = at.clock.now();
      const numbers = `(select ${from} + n as n from ${at.series(to - from)} numbers) s`;
      const shared = (id: number) =>
        `${id} + s.n, case when s.n % 2 = 0 then 'mail' else 'sms' end, concat('queue', s.n % 10), 'mail', case when s.n % 10 = 5 then 1 else 0 end, 5,
         ${now} - (${MORE} - s.n) * 1000`;
      const rest = `'{"customer":1}', case when s.n % 2 = 0 then '["a"]' end, '${LARGE_BATCH}'`;
      await at.sql(
        `insert into punctual_runs (${UNFINISHED})
         select ${shared(FIRST_UNFINISHED)}, case when s.n % 10 = 6 then ${now} + 60000 + s.n else ${now} - 600000 + s.n end,
                case when s.n % 10 in (6, 7) then 0 else 1 end, ${rest}
           from ${numbers}`,
      );
      await at.sql(
        `insert into punctual_history (${FINISHED})
         select ${shared(FIRST_FINISHED)}, ${now}, case when s.n % 3 = 0 then 4 else 3 end, ${rest},
                ${now} - (${MORE} - s.n) * 1000, 1, 0, ${now}, case when s.n % 3 = 0 then '{"name":"TypeError","message":"no"}' end,
                case when s.n % 3 = 0 then concat('print', s.n % 2) end,
                case when s.n between 2 and 6 then ${completed} end, case when s.n % 50 = 9 then 1 end, case when s.n % 50 = 9 then s.n end
           from ${numbers}`,
      );
    }

    async function seedBatches(from: number, to: number): Promise<void> {
      const now = at.clock.now();
      const numbers = `(select ${from} + n as n from ${at.series(to - from)} numbers) s`;
      for (const first of [FIRST_UNFINISHED, FIRST_FINISHED]) {
        await at.sql(
          `insert into punctual_batch_members (batch, run_id) select ${LARGE_BATCH}, ${first} + s.n from ${numbers}`,
        );
      }
      await at.sql(
        `insert into punctual_batches (id, name, cancels, created_at, sealed_at, finished_at)
         select ${FIRST_BATCH} + s.n, 'many', 0, ${now}, ${now}, case when s.n % 2 = 0 then ${now} end from ${numbers}`,
      );
    }

    async function readAll(): Promise<void> {
      const jobs = new Punctual(at.url, { clock: at.clock, logger: false });
      const page = dashboard(jobs, { logger: false, auth: () => ({ user: "ana", role: "admin" }) });
      for (const path of PATHS) {
        const response = await page(new Request(`http://localhost/api/v1${path}`));
        expect([path, response.status, await response.text()]).toEqual([path, 200, expect.any(String)]);
      }
      for (const read of READS) await read(jobs);
      const { runs, next } = await jobs.childRuns(completed);
      expect([runs.length, next]).toEqual([5, null]);
      await page.close();
      await jobs.stop();
    }

    /** Returns how much each statement read, by its text. */
    async function measure(): Promise<Map<string, number>> {
      const found = new Map<string, number>();
      for (const { statement, read } of await at.plans(readAll)) {
        const text = statement.replace(TIME_LIMIT, "");
        found.set(text, (found.get(text) ?? 0) + read);
      }
      return found;
    }

    test("no read of the dashboard, of status() or of why() grows with the tables", {
      timeout: 300_000,
    }, async () => {
      await beat(at.store, "w1");
      await define(at.store, [
        { name: "mail", schedules: [minutely()] },
        { name: "sms", limit: 2 },
      ]);
      await insert(at.store, ...times(20, () => ({ queue: "queue3", name: "mail" })));
      await claim(at.store, { limit: 20 });
      await at.sql(
        `insert into punctual_batches (id, name, cancels, created_at, sealed_at, added, failed)
         values (${LARGE_BATCH}, 'large', 0, 0, 0, ${2 * MORE}, 1)`,
      );
      await seed(0, FEWER);
      await seedBatches(0, FEWER);
      const before = await measure();
      await seed(FEWER, MORE);
      await seedBatches(FEWER, MORE);
      const after = await measure();
      const grown = [...after]
        .filter(([statement]) => !CATALOGUE.test(statement))
        .map(([statement, read]) => ({ statement, before: before.get(statement) ?? 0, after: read }))
        .filter((one) => one.after > one.before * TOLERANCE + few(database))
        .map((one) => `${one.before} → ${one.after}: ${one.statement}`);
      expect(grown.join("\n\n")).toBe("");
    });
  });
}
