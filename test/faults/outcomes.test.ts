import { afterEach, beforeEach, expect, test } from "vitest";
import type { ServerKind } from "../servers/server.ts";
import { sharedServer } from "../servers/shared.ts";
import { eventually } from "../support/eventually.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

/** The error of each write: one of a full disk, and one without a cause. */
const ERRORS: Record<ServerKind, Record<"full" | "unknown", string>> = {
  postgres: {
    full: "raise exception 'No space left on device' using errcode = '53100'",
    unknown: "raise exception 'not in my database'",
  },
  mysql: {
    full: "signal sqlstate 'HY000' set mysql_errno = 1114, message_text = 'The table is full'",
    unknown: "signal sqlstate '45000' set message_text = 'not in my database'",
  },
  mariadb: {
    full: "signal sqlstate 'HY000' set mysql_errno = 1114, message_text = 'The table is full'",
    unknown: "signal sqlstate '45000' set message_text = 'not in my database'",
  },
};

onEachServer((kind) => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.on(kind, (await sharedServer(kind)).url);
  });
  afterEach(() => scene.clear());

  /** From now on this event on the table fails with the error; returns a function that ends that. */
  async function refuse(
    error: string,
    table: string,
    event: "insert" | "update",
  ): Promise<() => Promise<void>> {
    const name = `refuse_${event}`;
    if (kind !== "postgres") {
      await scene.sql(`create trigger ${name}_${table} before ${event} on ${table} for each row ${error}`);
      return async () => void (await scene.sql(`drop trigger ${name}_${table}`));
    }
    await scene.sql(
      `create function ${name}_${table}() returns trigger language plpgsql as $$ begin ${error}; end $$`,
    );
    await scene.sql(
      `create trigger ${name} before ${event} on ${table} for each row execute function ${name}_${table}()`,
    );
    return async () => void (await scene.sql(`drop function ${name}_${table}() cascade`));
  }

  const faults = [
    ["a full disk", "DATABASE_FAILING", ERRORS[kind].full],
    ["a refusal without a reason", "DATABASE", ERRORS[kind].unknown],
  ] as const;

  test.each(faults)(
    "%s for longer than the lease loses no outcome and repeats no handler",
    async (_what, code, error) => {
      const jobs = scene.punctual(scene.url, { defaults: { lease: 2 } });
      const starts: number[] = [];
      const reported: unknown[] = [];
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const job = jobs
        .schedule("work", async (_args: object, run) => {
          starts.push(run.id);
          await released;
          return run.id;
        })
        .concurrency(0);
      jobs.on("error", ({ error }) => reported.push((error as { code?: unknown }).code));
      const runs = await job.dispatchMany([{}, {}, {}]);
      const working = jobs.forever({ signals: false });
      await eventually("all handlers to run", () => starts.length === runs.length);

      // All that a worker writes for runs it holds: outcomes, renewals, its heartbeat.
      const ends = [
        await refuse(error, "punctual_history", "insert"),
        await refuse(error, "punctual_runs", "update"),
        await refuse(error, "punctual_workers", "update"),
      ];
      const since = performance.now();
      release();
      await eventually("an outcome to be refused", () => reported.includes(code));
      // Twice the lease: only the outcomes themselves can save the runs.
      await eventually("the leases to have expired", () => performance.now() - since > 4000);
      for (const end of ends) await end();

      await scene.untilDrained();
      expect(starts).toHaveLength(runs.length);
      const history = await scene.history();
      expect(history.map(({ id, state, attempts, crashes }) => ({ id, state, attempts, crashes }))).toEqual(
        runs.map(({ id }) => ({ id, state: 3, attempts: 1, crashes: 0 })),
      );
      await jobs.stop();
      expect(await working).toBe(runs.length);
    },
  );
});
