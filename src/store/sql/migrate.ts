import { PunctualError } from "../../errors.ts";
import type { InstallReport } from "../maintenance.ts";
import type { SqlContext } from "./context.ts";
import type { Sql, Tables } from "./database.ts";

export interface Migration {
  number: number;
  /**
   * The oldest schema whose code can still use the database after this migration; absent: the migration's own number.
   * Design note 27 tells what such a migration must not change.
   */
  compatibleFrom?: number;
  /** Whole statements, in order. */
  statements(tables: Tables): string[];
}

export interface Schema {
  migrations: Migration[];
  /** A statement that creates the table of migrations unless it exists. */
  ledger(tables: Tables): string;
  hasLedger(sql: Sql, tables: Tables): Promise<boolean>;
}

/** Returns the number of the last applied migration; 0: no tables. */
export async function installedVersion(sql: SqlContext, schema: Schema): Promise<number> {
  if (!(await schema.hasLedger(sql, sql.t))) return 0;
  const [row] = await sql.all<{ version: number | null }>(
    `select max(number) as version from ${sql.t.migrations}`,
  );
  return row?.version ?? 0;
}

/** Returns the schema that this code needs. */
export function newest(schema: Schema): number {
  return schema.migrations.at(-1)!.number;
}

/** The last statement of a migration: records it as applied. */
function ledgerEntry({ number, compatibleFrom }: Migration, tables: Tables, now: number): string {
  // The column `compatible_from` exists only since migration 3.
  return compatibleFrom === undefined
    ? `insert into ${tables.migrations} (number, applied_at) values (${number}, ${now})`
    : `insert into ${tables.migrations} (number, applied_at, compatible_from) values (${number}, ${now}, ${compatibleFrom})`;
}

/** Runs the missing migrations, in a transaction that excludes other installers. */
export async function install(
  sql: SqlContext,
  schema: Schema,
  now: number,
  dryRun: boolean,
): Promise<InstallReport> {
  const { db, t: tables } = sql;
  const pending = (from: number) => schema.migrations.filter(({ number }) => number > from);
  const report = (from: number): InstallReport => {
    const statements = pending(from).flatMap((migration) => [
      ...migration.statements(tables),
      ledgerEntry(migration, tables, now),
    ]);
    return {
      from,
      to: Math.max(from, newest(schema)),
      statements: from === 0 ? [schema.ledger(tables), ...statements] : statements,
    };
  };
  const found = await usableVersion(sql, schema);
  // Checked first: if nothing is missing, install() takes no lock and needs no right to create tables.
  if (dryRun || found >= newest(schema)) return report(found);
  // There, the lock of the installer is a row of this table.
  if (db.isMultiWriter) await db.run(schema.ledger(tables));
  return db.alone(tables.prefix, async (tx) => {
    await tx.run(schema.ledger(tables));
    const done = report(await usableVersion(sql.on(tx), schema));
    const missing = done.from === 0 ? done.statements.slice(1) : done.statements;
    for (const statement of missing) await tx.run(statement);
    return done;
  });
}

/** Rejects if the database is not installed, older or too new. */
export async function checkSchema(sql: SqlContext, schema: Schema): Promise<void> {
  const version = await usableVersion(sql, schema);
  if (version < newest(schema)) {
    const found = version === 0 ? "has no Punctual tables" : `is at schema ${version}`;
    throw new PunctualError(
      "NOT_INSTALLED",
      `Expected schema ${newest(schema)} with table prefix "${sql.t.prefix}", but the database ${found}. Call install() first, or run: punctual install`,
    );
  }
}

/** Returns the installed version. Rejects if the database needs newer code than this. */
async function usableVersion(sql: SqlContext, schema: Schema): Promise<number> {
  const version = await installedVersion(sql, schema);
  const known = newest(schema);
  const oldest = await oldestSchema(sql, schema, version);
  if (oldest <= known) return version;
  throw new PunctualError(
    "SCHEMA_TOO_NEW",
    `The database is at schema ${version} (table prefix "${sql.t.prefix}"), which needs code for schema ${oldest} or newer; this version of Punctual knows schemas up to ${known}. ` +
      "Update punctual, or use another database or table prefix.",
  );
}

/**
 * Returns the oldest schema whose code can use a database at `version`, as recorded by migrations that this code does
 * not know.
 */
export async function oldestSchema(sql: SqlContext, schema: Schema, version: number): Promise<number> {
  const known = newest(schema);
  if (version <= known) return version;
  const [row] = await sql.all<{ oldest: number }>(
    `select max(coalesce(compatible_from, number)) as oldest from ${sql.t.migrations} where number > ?`,
    known,
  );
  return row!.oldest;
}

/** First schemas whose code knows what older code would not count. */
export const RATES_SINCE = 12;
export const NAMED_LIMITS_SINCE = 15;

/**
 * Records that code of a schema before `since` cannot use the tables any more: it would start runs without counting
 * them.
 */
export async function refuseOlderCode(tx: SqlContext, since: number): Promise<void> {
  await tx.run(
    `update ${tx.t.migrations} set compatible_from = ${since} where number = ${since} and compatible_from < ${since}`,
  );
}
