import type { Usage } from "../chooser.ts";
import type { Tables } from "../sql/database.ts";
import type { ClaimRequest } from "../store.ts";
import type { Connection } from "./connection.ts";

/**
 * The limits of one claim, each read when it is first asked for. Every running run counts, whether or not there was a
 * limit when it was claimed.
 */
export function readUsage(
  connection: Connection,
  t: Tables,
  request: Pick<ClaimRequest, "computesKey">,
  closed: Set<string>,
): Usage {
  const limits = remembered((name: string) =>
    connection.row<{ lim: number; key_lim: number }>(
      `select lim, key_lim from ${t.jobs} where name = ?`,
      name,
    ),
  );
  const count = (text: string, ...params: string[]) =>
    connection.row<{ n: number }>(
      `select count(*) as n from ${t.runs} where state = 2 and owner is null and ${text}`,
      ...params,
    )!.n;
  return {
    isClosed: (name) => closed.has(name),
    computesKey: (name) => request.computesKey(name),
    jobLimit: (name) => limits(name)?.lim ?? 0,
    keyLimit: (name) => limits(name)?.key_lim ?? 0,
    queueLimit: remembered(
      (queue: string) =>
        connection.row<{ lim: number }>(`select lim from ${t.queues} where name = ?`, queue)?.lim ?? 0,
    ),
    runningOfJob: (name) => count("name = ?", name),
    runningOfLane: (name, lane) => count("name = ? and lane = ?", name, lane),
    runningOfQueue: (queue) => count("queue = ?", queue),
  };
}

export function remembered<Value>(find: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    if (!known.has(key)) known.set(key, find(key));
    return known.get(key)!;
  };
}
