import { outcomeRules, stateCodes } from "../../run/states.ts";
import type { Tables } from "../sql/database.ts";
import type { Lease, ReapedRun, Renewal, Settlement } from "../store.ts";
import type { Connection } from "./connection.ts";
import { inOrder } from "./look.ts";

const HELD = "id = ? and lease_token = ? and state = 2";

/** What history takes over from the run as it is, and all it has. */
const COPIED =
  "name, queue, lane, limited, priority, run_at, args, attempts, crashes, timeout, schedule, tick_at, unique_key, unique_until, owner, progress, tags, parent_id, batch_id, traceparent, created_at";
const HISTORY = `id, ${COPIED}, state, worker, started_at, finished_at, keep_until, error, fingerprint, result`;

/** A run that holds a unique key for a while stays that long, whatever its retention. */
const KEPT = "max(?, coalesce(unique_until, 0))";

/** How a run ends. */
interface End {
  state: number;
  now: number;
  startedAt: number | null;
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  keep: number | null;
}

interface Expired {
  id: number;
  token: string;
  name: string;
  worker: string | null;
  crashes: number;
  started_at: number | null;
  cancelled_at: number | null;
  priority: number;
  run_at: number;
}

/** Everything that is written about a run by the worker that holds it. Each statement carries the token. */
export class Settler {
  readonly #connection: Connection;
  readonly #t: Tables;

  constructor(connection: Connection, tables: Tables) {
    this.#connection = connection;
    this.#t = tables;
  }

  /** In the order given: true where the lease was held. */
  settleAll(settlements: Settlement[], now: number): boolean[] {
    const completed = settlements.filter((one) => one.outcome === "completed");
    const alike = Map.groupBy(completed, ({ token, keep }) => `${token} ${keep}`);
    const done = new Set<string>();
    for (const group of alike.values()) {
      for (const id of this.#completeAll(group, now)) done.add(`${id} ${group[0]!.token}`);
    }
    return settlements.map((one) =>
      one.outcome === "completed" ? done.has(`${one.id} ${one.token}`) : this.settle(one, now),
    );
  }

  /** Completions of one claim in two statements: one by one they cost twice as much (bench/sqlite.ts). */
  #completeAll(group: Settlement[], now: number): number[] {
    const { token, keep } = group[0]!;
    const forgets = keep === 0;
    this.#connection.change(
      `insert into ${this.#t.history} (${HISTORY})
       select r.id, ${COPIED}, ?, r.locked_by, ? - (j.value ->> 1), ?, ${KEPT}, null, null, j.value ->> 2
         from json_each(?) j cross join ${this.#t.runs} r
        where r.id = (j.value ->> 0) and r.lease_token = ? and r.state = 2 ${forgets ? "and unique_until > ?" : ""}`,
      stateCodes.completed,
      now,
      now,
      keep === null ? null : now + keep,
      JSON.stringify(group.map(({ id, duration, result }) => [id, duration, result])),
      token,
      ...(forgets ? [now] : []),
    );
    const ids = JSON.stringify(group.map(({ id }) => id));
    const held = "lease_token = ? and state = 2 and id in (select value from json_each(?))";
    if (forgets) this.#forgetAttempts(`${held} and attempts > 1`, [token, ids]);
    return this.#connection
      .rows<{ id: number }>(`delete from ${this.#t.runs} where ${held} returning id`, token, ids)
      .map((row) => row.id);
  }

  settle(settlement: Settlement, now: number): boolean {
    const rule = outcomeRules[settlement.outcome];
    if (rule.recorded) this.#record(settlement, settlement.outcome, now);
    if (rule.to === "waiting") return this.#putBack(settlement, rule.counts, now);
    const { id, token, error, fingerprint, result, keep } = settlement;
    const ended = this.#end(HELD, [id, token], {
      state: stateCodes[rule.to],
      now,
      // From the duration, so that both ends of it are the database's time.
      startedAt: now - settlement.duration,
      error,
      fingerprint,
      result,
      keep,
    });
    return ended.length === 1;
  }

  /** Moves runs into history, or deletes them with their tries where they are not kept; gives their ids. */
  #end(where: string, params: (string | number)[], end: End): number[] {
    const forgets = end.keep === 0;
    this.#connection.change(
      `insert into ${this.#t.history} (${HISTORY})
       select id, ${COPIED}, ?, locked_by, ?, ?, ${KEPT}, ?, ?, ? from ${this.#t.runs}
        where ${where} ${forgets ? "and unique_until > ?" : ""}`,
      end.state,
      end.startedAt,
      end.now,
      end.keep === null ? null : end.now + end.keep,
      end.error,
      end.fingerprint,
      end.result,
      ...params,
      ...(forgets ? [end.now] : []),
    );
    if (forgets) this.#forgetAttempts(where, params);
    return this.#connection
      .rows<{ id: number }>(`delete from ${this.#t.runs} where ${where} returning id`, ...params)
      .map((row) => row.id);
  }

  renew(renewals: Renewal[], now: number): Set<number> {
    const held = new Set<number>();
    for (const { id, token, lease } of renewals) {
      const changed = this.#connection.change(
        `update ${this.#t.runs} set locked_until = ? where ${HELD}`,
        now + lease,
        id,
        token,
      );
      if (changed === 1) held.add(id);
    }
    return held;
  }

  start({ id, token }: Lease, now: number): boolean {
    return (
      this.#connection.change(
        `update ${this.#t.runs} set started_at = coalesce(started_at, ?) where ${HELD}`,
        now,
        id,
        token,
      ) === 1
    );
  }

  progress({ id, token }: Lease, progress: string): boolean {
    return (
      this.#connection.change(
        `update ${this.#t.runs} set progress = ? where ${HELD}`,
        progress,
        id,
        token,
      ) === 1
    );
  }

  cancelledOf(worker: string): number[] {
    return this.#connection
      .rows<{ id: number }>(
        `select id from ${this.#t.runs} where state = 2 and cancelled_at is not null and locked_by = ?`,
        worker,
      )
      .map((row) => row.id);
  }

  reap(limit: number, crashCap: number, error: string, keep: number | null, now: number): ReapedRun[] {
    const expired = this.#connection.rows<Expired>(
      `select id, lease_token as token, name, locked_by as worker, crashes, started_at, cancelled_at, priority, run_at
         from ${this.#t.runs} where state = 2 and locked_until < ? order by locked_until, id limit ?`,
      now,
      limit,
    );
    const begun = this.#begun(expired);
    return expired.map((run) => this.#takeBack(run, begun.has(run), crashCap, error, keep, now));
  }

  /**
   * Runs that had begun when their worker was lost. Of those claimed ahead the first may have begun since it last told
   * of any: as many as it had slots for, less those it told of.
   */
  #begun(expired: Expired[]): Set<Expired> {
    const begun = new Set(expired.filter((run) => run.started_at !== null));
    for (const [worker, runs] of Map.groupBy(expired, (run) => run.worker ?? "")) {
      const row = this.#connection.row<{ parallel: number; told: number }>(
        `select parallel, (select count(*) from ${this.#t.runs} where state = 2 and locked_by = w.id and started_at is not null) as told
           from ${this.#t.workers} w where id = ?`,
        worker,
      );
      const slots = Math.max(0, (row?.parallel ?? 0) - (row?.told ?? 0));
      // One with a crash behind it is told of before it begins.
      const ahead = runs.filter((run) => run.started_at === null && run.crashes === 0).sort(inOrder);
      for (const run of ahead.slice(0, slots)) begun.add(run);
    }
    return begun;
  }

  #takeBack(
    run: Expired,
    crashed: boolean,
    crashCap: number,
    error: string,
    keep: number | null,
    now: number,
  ): ReapedRun {
    const { id, token, name, worker } = run;
    const crashes = run.crashes + (crashed ? 1 : 0);
    const ended = run.cancelled_at !== null ? "cancelled" : crashed && crashes >= crashCap ? "failed" : null;
    if (crashed) {
      const duration = run.started_at === null ? 0 : now - run.started_at;
      this.#record({ id, token, duration, error, fingerprint: "crashed" }, "crashed", now);
      this.#connection.change(`update ${this.#t.runs} set crashes = crashes + 1 where ${HELD}`, id, token);
    }
    if (ended === null) {
      this.#putBack({ id, token, delay: 0 }, crashed, now);
    } else {
      this.#end(HELD, [id, token], {
        state: stateCodes[ended],
        now,
        startedAt: run.started_at,
        error: ended === "failed" ? error : null,
        fingerprint: ended === "failed" ? "crashed" : null,
        result: null,
        keep,
      });
    }
    return { id, name, worker, state: ended ?? "ready", crashed };
  }

  /** Ends runs that are not running, by a condition on `runs`; gives their ids. */
  endWaiting(
    where: string,
    params: (string | number)[],
    end: { state: "failed" | "cancelled"; error: string | null; keep: number | null; now: number },
  ): number[] {
    const state = stateCodes[end.state];
    return this.#end(`state in (0, 1) and ${where}`, params, {
      ...end,
      state,
      startedAt: null,
      fingerprint: null,
      result: null,
    });
  }

  #putBack({ id, token, delay }: Lease & { delay: number }, counts: boolean, now: number): boolean {
    const changed = this.#connection.change(
      `update ${this.#t.runs}
          set state = ?, run_at = case when ? > 0 then ? else run_at end, attempts = attempts - ?,
              lease_token = null, locked_by = null, locked_until = null, started_at = null
        where ${HELD}`,
      delay > 0 ? stateCodes.scheduled : stateCodes.ready,
      delay,
      now + delay,
      counts ? 0 : 1,
      id,
      token,
    );
    return changed === 1;
  }

  #record(
    {
      id,
      token,
      duration,
      error,
      fingerprint,
    }: Lease & Pick<Settlement, "duration" | "error" | "fingerprint">,
    outcome: string,
    now: number,
  ): void {
    this.#connection.change(
      `insert into ${this.#t.attempts} (run_id, attempt, outcome, worker, started_at, finished_at, error, fingerprint)
       select id, attempts, ?, locked_by, ?, ?, ?, ? from ${this.#t.runs} where ${HELD}`,
      outcome,
      now - duration,
      now,
      error,
      fingerprint,
      id,
      token,
    );
  }

  #forgetAttempts(where: string, params: (string | number)[]): void {
    this.#connection.change(
      `delete from ${this.#t.attempts} where run_id in (select id from ${this.#t.runs} where ${where})`,
      ...params,
    );
  }
}
