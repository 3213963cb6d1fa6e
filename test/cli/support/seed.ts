import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Punctual } from "../../../src/index.ts";
import { type Ended, project, run } from "./punctual.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** All control characters except the newline. */
export const STEERING: RegExp = /[^\P{Cc}\n]|[\p{Bidi_Control}\u2028\u2029]/u;

export const UTF8: Record<string, string> = { LC_ALL: "C.UTF-8" };

/** A folder with that database, and the program on it. */
export async function seeded(): Promise<Seeded & { call(...args: string[]): Promise<Ended> }> {
  const cwd = project();
  const found = await seed(cwd);
  return { ...found, call: (...args) => run([...args, "--db", found.db, "--utc"], { cwd, env: UTF8 }) };
}

/** Ids of runs that the tests use. */
export interface Seeded {
  db: string;
  completed: number;
  failed: number;
  retrying: number;
  running: number;
  waiting: number;
}

/** Contains control sequences for a terminal. */
export const EVIL = "evil\x1b[2J\x07\u202eboj\u009b2J\u2066\u200f";

class SmtpError extends Error {
  override readonly name = "SmtpError";
  readonly code = "ETIMEDOUT";
}

/**
 * A database as it is after some days: jobs that are healthy, running, failing, late, paused and no longer in code.
 * The jobs are executed; then their times are moved into the past.
 */
export async function seed(folder: string): Promise<Seeded> {
  const db = `sqlite:${join(folder, "jobs.db")}`;
  const jobs = new Punctual(db, { logger: false });
  const ok = () => ({ synced: 3 });
  jobs.schedule("sync-stripe", ok).everyMinute().priority(10);
  jobs.schedule("rollup-hourly", ok).hourly();
  jobs.schedule("nightly-export", ok).dailyAt("14:00").queue("heavy").priority(-5);
  jobs.schedule("digest-emails", ok).weekdays().hours(15).queue("newsletters");
  jobs.schedule("old-report", ok).dailyAt("03:00");
  jobs.schedule(EVIL, () => {
    throw new Error("\x1b]0;owned\x07 first line\nsecond line");
  });
  const invoice = jobs
    .schedule("send-invoice", async ({ id }: { id: number; password?: string }, run) => {
      await run.progress({ sent: 1, of: 3 });
      throw new SmtpError(`connect ETIMEDOUT 10.0.0.1:25 for invoice ${id}`, {
        cause: new Error("socket hang up"),
      });
    })
    .queue("emails")
    .concurrency(0);
  jobs
    .schedule("import-feed", () => {
      throw new TypeError("fetch failed");
    })
    .retries({ max: 3, base: 3600, cap: 7200, jitter: "none" });
  const completed = await jobs.dispatch("sync-stripe", { account: "acct_1" }).tags("nightly");
  await jobs.dispatch(EVIL);
  const failed = await invoice.dispatch({ id: 41, password: "hunter2" });
  await invoice.dispatch({ id: 42, password: "hunter2" });
  const retrying = await jobs.dispatch("import-feed", {
    token: "s3cr3t",
    url: "ftp://ada:pa55@ge@feeds.example.com:21/a?b=1&api_key=k3y#c",
  });
  // Without ticks: a minute may begin meanwhile.
  await jobs.run({ schedules: false });
  const running = await jobs.dispatch("rollup-hourly", { hour: 14 });
  const waiting = await jobs.dispatch("nightly-export", { day: "2026-11-14" });
  await jobs.pauseQueue("newsletters", { for: "3 days" });
  await jobs.stop();
  age(join(folder, "jobs.db"), running.id, waiting.id);
  return {
    db,
    completed: completed.id,
    failed: failed.id,
    retrying: retrying.id,
    running: running.id,
    waiting: waiting.id,
  };
}

function age(file: string, running: number, waiting: number): void {
  const database = new DatabaseSync(file);
  const now = Date.now();
  const set = (sql: string, ...values: (string | number | null)[]) => database.prepare(sql).run(...values);
  const seen = "update punctual_jobs set seen_at = ?, last_run = ? where name = ?";
  set("update punctual_jobs set seen_at = ?", now - 4 * SECOND);
  set(seen, now - 4 * SECOND, now - 22 * SECOND, "sync-stripe");
  set(seen, now - 4 * SECOND, now - 62 * MINUTE, "rollup-hourly");
  set(seen, now - 4 * SECOND, now - 25 * HOUR, "nightly-export");
  set(seen, now - 4 * SECOND, now - 2 * DAY, "digest-emails");
  set(seen, now - 12 * DAY, now - 12 * DAY, "old-report");
  set(
    "update punctual_schedules set next_tick = ? where job = 'nightly-export'",
    now - 4 * MINUTE - 10 * SECOND,
  );
  set("update punctual_schedules set next_tick = ? where job = 'sync-stripe'", now + 38 * SECOND);
  set("update punctual_runs set run_at = ? where id = ?", now - 4 * MINUTE, waiting);
  set("delete from punctual_workers");
  const worker =
    "insert into punctual_workers (id, host, pid, parallel, queues, started_at, seen_at) values (?, ?, ?, ?, ?, ?, ?)";
  set(worker, "w-web-1", "web-1", 4400, 10, '["default","emails"]', now - 2 * DAY, now);
  set(worker, "w-web-2", "web-2", 4411, 10, '["default","emails"]', now - 2 * DAY, now);
  set(
    `update punctual_runs set state = 2, attempts = 1, lease_token = 'x', locked_by = 'w-web-2', locked_until = ?,
            started_at = ?, progress = '{"done":120,"of":300}' where id = ?`,
    now + 48 * SECOND,
    now - 72 * SECOND,
    running,
  );
  database.close();
}
