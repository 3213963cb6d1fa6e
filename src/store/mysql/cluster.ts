import type { Param } from "../sql/database.ts";
import { inlineParams, paramsLength } from "./dialect.ts";
import type { MysqlConnection, MysqlResult } from "./driver.ts";
import { query, rowsOf } from "./query.ts";

/**
 * A cluster that accepts writes on several nodes. A node learns only when a transaction commits that it conflicts with
 * one of another node, and compares nothing but the rows that both have written (note 53).
 */
export type Cluster = "galera" | "group";

const SHOW_CLUSTER =
  "show variables where variable_name in ('wsrep_on', 'group_replication_single_primary_mode')";

/** Returns the kind of cluster; null: only one node accepts writes, as in a group that has a single primary. */
export async function readCluster(connection: MysqlConnection): Promise<Cluster | null> {
  const rows = rowsOf<{ Variable_name: string; Value: string }>(await query(connection, SHOW_CLUSTER, []));
  const values = new Map(rows.map((row) => [row.Variable_name, row.Value]));
  if (values.get("wsrep_on") === "ON") return "galera";
  return values.get("group_replication_single_primary_mode") === "OFF" ? "group" : null;
}

/** Remembers which cluster the server belongs to. A server joins one only by a restart, which ends its connections. */
export class ClusterDetector {
  kind: Cluster | null = null;
  #losses = -1;

  /** Asks on this connection, if connections were lost since the last answer. */
  async detect(connection: MysqlConnection, losses: number): Promise<Cluster | null> {
    if (losses === this.#losses) return this.kind;
    this.kind = await readCluster(connection);
    this.#losses = losses;
    return this.kind;
  }
}

const SAVEPOINT = "punctual_open";

/**
 * The statements around a transaction that a node may roll back at any moment. Galera does not always report that: the
 * error is lost if the client's next command prepares or closes a statement, and between two statements of one packet.
 * The statements behind it would then be committed one by one. Therefore autocommit is off, so that they open another
 * transaction, and a savepoint marks the first one: `CHECK` fails in any other.
 */
export const FENCE: readonly string[] = ["set autocommit = 0", "start transaction", `savepoint ${SAVEPOINT}`];
/** The commit is sent in a packet of its own, behind this one. */
export const CHECK: string = `release savepoint ${SAVEPOINT}`;

/** Sent before `start transaction`: waits until the node has applied everything that was committed before. */
export const CATCH_UP: Record<Cluster, string> = {
  galera: "set statement wsrep_sync_wait = 1 for select 1",
  group: "set session group_replication_consistency = 'BEFORE'",
};

/** Settings after the transaction has ended. In a transaction that is open, they would commit it. */
export const RESTORE: Record<Cluster, string> = {
  galera: "autocommit = 1",
  group: "autocommit = 1, session group_replication_consistency = @@global.group_replication_consistency",
};

/**
 * Longest parameters, in characters, that are inlined into a statement. A statement with longer ones is sent by itself
 * and prepared: parsing the text each time would cost more than the round trip.
 */
export const MAX_INLINE_LENGTH: number = 32 * 1024;

/** Sends a statement as text unless it is long: while one is prepared, Galera may lose the error of a rollback. */
export function queryAsText(
  connection: MysqlConnection,
  text: string,
  params: Param[],
  timeout?: number,
): Promise<MysqlResult> {
  return paramsLength({ text, params }) > MAX_INLINE_LENGTH
    ? query(connection, text, params, timeout)
    : query(connection, inlineParams({ text, params }), [], timeout);
}
