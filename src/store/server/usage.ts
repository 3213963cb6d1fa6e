import type { Usage } from "../choose.ts";
import type { Look } from "../sql/claimed.ts";
import { marks, type Sql, type Tables } from "../sql/database.ts";

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
  t: Tables,
  { names, queues }: Limited,
  closed: Set<string>,
): Promise<Usage> {
  const facts = await tx.all<Fact>(
    `select 'job' as kind, name, '' as lane, lim as number, key_lim as key_limit from ${t.jobs} where name in (${marks(names)})
     union all
     select 'queue', name, '', lim, 0 from ${t.queues} where name in (${marks(queues)})
     union all
     select 'running', name, lane, count(*), 0 from ${t.runs}
      where state = 2 and limited = 1 and name in (${marks(names)}) group by name, lane
     union all
     select 'busy', queue, '', count(*), 0 from ${t.runs}
      where state = 2 and limited = 1 and queue in (select name from ${t.queues} where lim > 0 and name in (${marks(queues)}))
      group by queue`,
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
  const running = new Map<string, number>();
  const place = (name: string, lane: string) => JSON.stringify([name, lane]);
  for (const { kind, name, lane, number } of facts) {
    if (kind !== "running") continue;
    lanes.set(place(name, lane), number);
    running.set(name, (running.get(name) ?? 0) + number);
  }
  return {
    isClosed: (name) => closed.has(name),
    jobLimit: (name) => jobs.get(name)?.number ?? 0,
    keyLimit: (name) => jobs.get(name)?.key_limit ?? 0,
    queueLimit: (queue) => limits.get(queue)?.number ?? 0,
    runningOfJob: (name) => running.get(name) ?? 0,
    runningOfLane: (name, lane) => lanes.get(place(name, lane)) ?? 0,
    runningOfQueue: (queue) => busy.get(queue)?.number ?? 0,
  };
}
