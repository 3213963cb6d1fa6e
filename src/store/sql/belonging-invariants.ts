import { yieldToEventLoop } from "../../time.ts";
import type { Findings, Invariant } from "../invariants.ts";
import type { SqlContext } from "./context.ts";
import { idsAsJson, type Tables } from "./database.ts";

type TableName = Exclude<keyof Tables, "prefix">;

/** Rows that one statement reads. */
const SLICE = 1000;

/** A table whose rows belong to rows of other tables. */
export interface Belongings {
  invariant: Invariant;
  table: TableName;
  /** The column with the id of the owner, and the column by which the primary key goes on. */
  key: [owner: string, position: string];
  /** One of them has the owner. */
  owners: TableName[];
  /** Only rows whose column `at` is before this time. */
  before?: number;
  /** Words of the message: for the rows, and for what they belong to. */
  what: string;
  owner: string;
}

/** Checks that the owners of rows exist, reading at most `most` rows. Returns false if it left some out. */
export async function checkBelongings(
  sql: SqlContext,
  { invariant, table, key, owners, before, what, owner }: Belongings,
  most: number,
  findings: Findings,
): Promise<boolean> {
  const { db, t } = sql;
  const [column, position] = key;
  const old = before === undefined ? "" : "and at < ?";
  const joins = owners.map((name, index) => `left join ${t[name]} o${index} on o${index}.id = v.id`);
  const isGone = owners.map((_, index) => `o${index}.id is null`);
  for (let after = 0, read = 0; ; read += SLICE) {
    if (read >= most) return false;
    const rows = await sql.all<{ id: number }>(
      `select distinct id from (
         select ${column} as id from ${t[table]} where ${column} > ? ${old} order by ${column}, ${position} limit ${SLICE}) some_of_them
        order by id`,
      after,
      ...(before === undefined ? [] : [before]),
    );
    const ids = rows.map(({ id }) => id);
    if (ids.length === 0) return true;
    const gone = await sql.all<{ id: number }>(
      `select v.id from ${db.rows({ id: "integer" })} v ${joins.join(" ")} where ${isGone.join(" and ")}`,
      idsAsJson(ids),
    );
    findings.add(
      gone.map(({ id }) => ({
        invariant,
        subject: `${owner} ${id}`,
        message: `${what} of ${owner} ${id} are left, and the ${owner} does not exist.`,
      })),
    );
    after = ids.at(-1)!;
    await yieldToEventLoop();
  }
}
