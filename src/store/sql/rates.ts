import { LAST, laneOf } from "../../run/lanes.ts";
import { jobLimitName, keyLimitName } from "../chooser.ts";
import { join, readBucket, writeBucket } from "../rate.ts";
import type { BucketRow } from "../rate-spending.ts";
import type { SqlContext } from "./context.ts";
import {
  forGroups,
  inGroups,
  namesAsJson,
  placeholders,
  rowPlaceholders,
  type Statement,
  type Tables,
} from "./database.ts";
import { gateOf, lockGates } from "./gates.ts";

/** Buckets that one transaction deletes. */
const PRUNED_AT_ONCE = 200;

/**
 * Returns the statements that write buckets. The caller holds their gates and has read which of them exist, so no other
 * transaction inserts them meanwhile.
 */
export function bucketWrites(t: Tables, buckets: BucketRow[]): Statement[] {
  const updates = buckets
    .filter(({ isStored }) => isStored)
    .map(({ name, bucket, emptyAt }) => ({
      text: `update ${t.rates} set starts = ?, empty_at = ? where name = ?`,
      params: [bucket, emptyAt, name],
    }));
  const inserts = [...inGroups(buckets.filter(({ isStored }) => !isStored))].map((group) => ({
    text: `insert into ${t.rates} (name, starts, empty_at) values ${rowPlaceholders(3, group.length)}`,
    params: group.flatMap(({ name, bucket, emptyAt }) => [name, bucket, emptyAt]),
  }));
  return [...updates, ...inserts];
}

/** Deletes buckets that mean the same as none. Only the holder of a bucket's gate may write to it. */
export async function pruneRates(sql: SqlContext, now: number): Promise<void> {
  const { t } = sql;
  for (;;) {
    const found = await sql.all<{ name: string }>(
      `select name from ${t.rates} where empty_at < ? order by empty_at limit ${PRUNED_AT_ONCE}`,
      now,
    );
    if (found.length === 0) return;
    const names = found.map(({ name }) => name);
    const deleted = await sql.transaction((tx) => deleteEmpty(tx, names, now));
    if (deleted < PRUNED_AT_ONCE) return;
  }
}

/** Returns how many of these buckets could be deleted. */
async function deleteEmpty(tx: SqlContext, names: string[], now: number): Promise<number> {
  const { t } = tx;
  const held = await lockGates(tx, names, tx.db.skipLocked);
  const locked = names.filter((name) => held.has(gateOf(name)));
  if (locked.length === 0) return 0;
  await tx.run(
    `delete from ${t.rates} where empty_at < ? and name in (${placeholders(locked)})`,
    now,
    ...locked,
  );
  return locked.length;
}

/** Moves the starts of a job, and those of its keys, to its new name. */
export async function moveRates(tx: SqlContext, from: string, to: string): Promise<void> {
  const { db, t } = tx;
  const ofKeys = (name: string) => keyLimitName({ name, lane: laneOf(name, null) });
  const read = () =>
    tx.all<{ name: string; starts: string; empty_at: number }>(
      `select name, starts, empty_at from ${t.rates} where name = ? or (name > ? and name < ?)`,
      jobLimitName(from),
      ofKeys(from),
      ofKeys(from) + LAST,
    );
  const found = await read();
  if (found.length === 0) return;
  if (db.forUpdate !== "") {
    // All of them: another key may start a run until they are locked.
    await tx.all(`select id from ${t.gates} order by id${db.forUpdate}`);
  }
  const renamed = (name: string) =>
    name === jobLimitName(from) ? jobLimitName(to) : ofKeys(to) + name.slice(ofKeys(from).length);
  for (const { name, starts: moved, empty_at: emptyAt } of await read()) {
    const known = (await readBuckets(tx, [renamed(name)])).get(renamed(name));
    const bucket = known === undefined ? moved : writeBucket(join(readBucket(known), readBucket(moved)));
    const row = { name: renamed(name), bucket, emptyAt, isStored: known !== undefined };
    for (const { text, params } of bucketWrites(t, [row])) await tx.run(text, ...params);
    await tx.run(`delete from ${t.rates} where name = ?`, name);
  }
}

/** Reads buckets by name. */
export async function readBuckets(sql: SqlContext, names: string[]): Promise<Map<string, string>> {
  const { db, t } = sql;
  const found = db.lookUp(db.rows({ name: "text" }), t.rates, "r.name = v.name");
  const rows = await forGroups(names, (group) =>
    sql.all<{ name: string; starts: string }>(`select r.name, r.starts from ${found}`, namesAsJson(group)),
  );
  return new Map(rows.map(({ name, starts }) => [name, starts]));
}
