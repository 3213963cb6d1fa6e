import { ID_GAP } from "../server/ids.ts";
import type { Sql, Tables } from "../sql/database.ts";
import type { Flavour } from "./dialect.ts";

/** Makes the statement that reserves ids. */
export class IdCounter {
  /** The SQL expression of `writerIdentity`; null: not known yet. */
  #writer: string | null = null;

  async statement(sql: Sql, flavour: Flavour, tables: Tables): Promise<string> {
    if (this.#writer === null) {
      const rows = await sql.all<{ Variable_name: string }>(
        "show variables where variable_name in ('wsrep_on', 'group_replication_group_name')",
      );
      this.#writer = writerIdentity(flavour, new Set(rows.map((row) => row.Variable_name)));
    }
    return reserveIds(tables, this.#writer);
  }
}

/**
 * Returns an SQL expression that identifies the server that writes, or the cluster whose servers commit together.
 * Replicas have another identity: MySQL gives each server a UUID, and MariaDB refuses to replicate between servers of
 * one id.
 */
function writerIdentity(flavour: Flavour, variables: ReadonlySet<string>): string {
  const server = flavour === "mysql" ? "@@server_uuid" : "cast(@@server_id as char)";
  if (variables.has("wsrep_on")) return `if(@@global.wsrep_on, 'wsrep', ${server})`;
  const group = "@@group_replication_group_name";
  return variables.has(group.slice(2)) ? `if(${group} <> '', ${group}, ${server})` : server;
}

/**
 * Advances the counter of ids; `last_insert_id()` and the answer's insertId are then the highest of the new ids. The
 * first reservation on another server skips ids: a replica that lagged when it was promoted would hand out ids again
 * that lost runs had (note 54). The mark of the counter's row is the server that advanced it last; an empty one is
 * unknown.
 */
function reserveIds({ ids }: Tables, writer: string): string {
  return `update ${ids} set next = last_insert_id(greatest(next, ?) + ? + if(mark in ('', ${writer}), 0, ${ID_GAP})), mark = ${writer} where id = 1`;
}

/** Returns `count` ids of which `last` is the highest. */
export function idsUpTo(last: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => last - count + 1 + index);
}
