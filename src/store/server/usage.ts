import type { Usage } from "../choose.ts";
import type { Look } from "../sql/claimed.ts";
import { type Index, marks, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";

type Fact = { kind: string; name: string; lane: string; number: number; key_limit: number };

/** What can have limits. */
export interface Limited {
  names: string[];
  queues: string[];
}

export function limitedBy(looks: Look[]): Limited {
  return {
    names: [...new Set(looks.map(({ name }) => name))],
    queues: [...new Set(looks.map(({ queue }) => queue))],
  };
}

/** The limits that these are under, and how much of them is in use: one statement, so one moment. */
export async function readUsage(
  tx: Sql,
  db: ServerDatabase,
  t: Tables,
  { names, queues }: Limited,
  closed: Set<string>,
): Promise<Usage> {
  const running = (limits: string, column: "name" | "queue", index: Index) =>
    db.lookUp(limits, t.runs, `r.state = 2 and r.limited = 1 and r.${column} = v.name`, index);
  const facts = await tx.all<Fact>(
    `select 'job' as kind, name, '' as lane, lim as number, key_lim as key_limit from ${t.jobs} where name in (${marks(names)})
     union all
     select 'queue', name, '', lim, 0 from ${t.queues} where name in (${marks(queues)})
     union all
     select 'running', r.name, r.lane, count(*), 0 from ${running(t.jobs, "name", "counted")}
      where (v.lim > 0 or v.key_lim > 0) and v.name in (${marks(names)}) group by r.name, r.lane
     union all
     select 'busy', r.queue, '', count(*), 0 from ${running(t.queues, "queue", "lanes")}
      where v.lim > 0 and v.name in (${marks(queues)}) group by r.queue`,
    ...names,
    ...queues,
    ...names,
    ...queues,
  );
  const of = (kind: string) =>
    new Map(facts.filter((fact) => fact.kind === kind).map((fact) => [fact.name, fact]));
  const jobs = of("job");
  const limits = of("queue");
  const busy = of("busy");
  const lanes = new Map<string, number>();
  const ofJob = new Map<string, number>();
  const place = (name: string, lane: string) => JSON.stringify([name, lane]);
  for (const { kind, name, lane, number } of facts) {
    if (kind !== "running") continue;
    lanes.set(place(name, lane), number);
    ofJob.set(name, (ofJob.get(name) ?? 0) + number);
  }
  return {
    isClosed: (name) => closed.has(name),
    jobLimit: (name) => jobs.get(name)?.number ?? 0,
    keyLimit: (name) => jobs.get(name)?.key_limit ?? 0,
    queueLimit: (queue) => limits.get(queue)?.number ?? 0,
    runningOfJob: (name) => ofJob.get(name) ?? 0,
    runningOfLane: (name, lane) => lanes.get(place(name, lane)) ?? 0,
    runningOfQueue: (queue) => busy.get(queue)?.number ?? 0,
  };
}
