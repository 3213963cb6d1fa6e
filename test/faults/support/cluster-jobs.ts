import type { PoolConnection } from "mysql2/promise";
import type { Definition, Punctual, RunContext } from "../../../src/index.ts";
import type { Limits } from "../../conformance/support/limit-journal.ts";
import type { Note } from "../../support/journal.ts";

export const LIMITS: Limits = { jobs: { few: 3 }, keys: { keyed: 1 }, queues: { narrow: 4 } };

/** Accounts that handlers count up in their own transactions. Few, so that transactions on two nodes often conflict. */
export const ACCOUNTS = 2;

export interface Task {
  key?: string;
  account?: number;
}

export type ClusterJobs = Record<"plain" | "few" | "keyed" | "narrow" | "transfer", Definition<Task>>;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The jobs of the tests on clusters, for the test that dispatches and for the processes that run them. */
export function defineClusterJobs(jobs: Punctual, note: Note): ClusterJobs {
  jobs.queue("narrow", { concurrency: LIMITS.queues.narrow! });
  const begin = ({ id, name, key, attempt, scheduledFor }: RunContext) => {
    const of = { run: id, job: name, key, attempt, text: scheduledFor.toISOString() };
    note("start", of);
    return of;
  };
  const handler = async (_: Task, run: RunContext) => {
    const of = begin(run);
    await pause(run.name === "plain" ? 0 : 3);
    note("end", of);
  };
  const transfer = async ({ account }: Task, run: RunContext) => {
    const of = begin(run);
    // A new text each time: the driver prepares it, and closes an old one.
    const comment = `/* ${run.id} ${run.attempt} */`;
    await run
      .transaction<PoolConnection>(async (tx) => {
        await tx.execute(`update accounts set total = total + 1 where id = ? ${comment}`, [account!]);
        await pause(2);
        await tx.execute(`select total from accounts where id = ? ${comment}`, [account!]);
        await pause(2);
        await tx.execute(`insert into transfers (run, account) values (?, ?) ${comment}`, [run.id, account!]);
      })
      .finally(() => note("end", of));
  };
  jobs.schedule("beat", handler).everySecond().misfire("all").concurrency(0).args({});
  return {
    plain: jobs.schedule("plain", handler).concurrency(0),
    few: jobs.schedule("few", handler).concurrency(LIMITS.jobs.few!),
    keyed: jobs
      .schedule("keyed", handler)
      .concurrency(0, { perKey: LIMITS.keys.keyed!, by: (task) => task.key }),
    narrow: jobs.schedule("narrow", handler).concurrency(0).queue("narrow"),
    transfer: jobs
      .schedule("transfer", transfer)
      .concurrency(0)
      .retries({ max: 200, base: 0, jitter: "none" })
      .queue("transfers"),
  };
}
