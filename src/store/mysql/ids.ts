import type { Tables } from "../sql/database.ts";
import type { MysqlConnection } from "./driver.ts";
import { headerOf, query } from "./query.ts";

/** The server tells the last of the new ids with its answer. */
export const RESERVE = ({ ids }: Tables): string =>
  `update ${ids} set next = last_insert_id(next + ?) where id = 1`;

export async function reserveIds(
  connection: MysqlConnection,
  tables: Tables,
  count: number,
): Promise<number[]> {
  const { insertId } = headerOf(await query(connection, RESERVE(tables), [count]));
  return endingWith(insertId, count);
}

export function endingWith(last: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => last - count + 1 + index);
}
