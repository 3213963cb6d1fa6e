import type { Usage } from "../chooser.ts";
import type { Look } from "../sql/claim.ts";
import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";

type Fact = { kind: string; name: string; lane: string; number: number; key_limit: number };

/** What can have limits. */
export interface Limited {
  names: string[];
  queues: string[];
}

/** What a claim knows of jobs before it reads their limits. */
export type Scope = Pick<Usage, "isClosed" | "computesKey">;

export function limitedBy(looks: Look[]): Limited {
  return {
    names: [...new Set(looks.map(({ name }) => name))],
    queues: [...new Set(looks.map(({ queue }) => queue))],
  };
}

/**
 * The limits that these are under, and how much of them is in use: one statement, so one moment. Every running run
 * counts, whether or not there was a limit when it was claimed.
 */
export async function readUsage(
  tx: Sql,
  db: ServerDatabase,
  t: Tables,
  { names, queues }: Limited,
  scope: Scope,
): Promise<Usage> {
  const list = db.rows({ name: "text" });
  const of = (table: string) => db.lookUp(list, table, "r.name = v.name");
  const limitedJobs = `(select r.name from ${of(t.jobs)} where r.lim > 0 or r.key_lim > 0)`;
  // Both values of `limited`: the index begins with the state and it.
  const limitedQueues = `(select r.name, l.limited from ${of(t.queues)} cross join (select 0 as limited union all select 1) l where r.lim > 0)`;
  const facts = await tx.all<Fact>(
    `select 'job' as kind, r.name, '' as lane, r.lim as number, r.key_lim as key_limit from ${of(t.jobs)}
     union all
     select 'queue', r.name, '', r.lim, 0 from ${of(t.queues)}
     union all
     select 'running', r.name, r.lane, count(*), 0
       from ${db.lookUp(limitedJobs, t.runs, "r.state = 2 and r.owner is null and r.name = v.name", "counted")}
      group by r.name, r.lane
     union all
     select 'busy', r.queue, '', count(*), 0
       from ${db.lookUp(limitedQueues, t.runs, "r.state = 2 and r.limited = v.limited and r.owner is null and r.queue = v.name", "ready")}
      group by r.queue`,
    ...[names, queues, names, queues].map((words) => JSON.stringify(words.map((word) => [word]))),
  );
  const ofKind = (kind: string) =>
    new Map(facts.filter((fact) => fact.kind === kind).map((fact) => [fact.name, fact]));
  const jobs = ofKind("job");
  const limits = ofKind("queue");
  const busy = ofKind("busy");
  const lanes = new Map<string, number>();
  const ofJob = new Map<string, number>();
  const place = (name: string, lane: string) => JSON.stringify([name, lane]);
  for (const { kind, name, lane, number } of facts) {
    if (kind !== "running") continue;
    lanes.set(place(name, lane), number);
    ofJob.set(name, (ofJob.get(name) ?? 0) + number);
  }
  return {
    ...scope,
    jobLimit: (name) => jobs.get(name)?.number ?? 0,
    keyLimit: (name) => jobs.get(name)?.key_limit ?? 0,
    queueLimit: (queue) => limits.get(queue)?.number ?? 0,
    runningOfJob: (name) => ofJob.get(name) ?? 0,
    runningOfLane: (name, lane) => lanes.get(place(name, lane)) ?? 0,
    runningOfQueue: (queue) => busy.get(queue)?.number ?? 0,
  };
}
