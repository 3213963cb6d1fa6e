import { PunctualError } from "../../errors.ts";
import type { InstallReport } from "../inspection.ts";
import type { Database, Sql, Tables } from "./database.ts";

export interface Migration {
  number: number;
  /** Whole statements, in order. */
  statements(tables: Tables): string[];
}

export interface Schema {
  migrations: Migration[];
  /** Creates the table of migrations where it is missing. */
  ledger(tables: Tables): string;
  hasLedger(sql: Sql, tables: Tables): Promise<boolean>;
}

export async function installedVersion(sql: Sql, schema: Schema, tables: Tables): Promise<number> {
  if (!(await schema.hasLedger(sql, tables))) return 0;
  const [row] = await sql.all<{ version: number | null }>(
    `select max(number) as version from ${tables.migrations}`,
  );
  return row?.version ?? 0;
}

export function newest(schema: Schema): number {
  return schema.migrations.at(-1)!.number;
}

/** Runs the migrations that are missing, while no other process does. */
export async function install(
  database: Database,
  schema: Schema,
  tables: Tables,
  now: number,
  dryRun: boolean,
): Promise<InstallReport> {
  const pending = (from: number) => schema.migrations.filter(({ number }) => number > from);
  const opening = (from: number) => (from === 0 ? [schema.ledger(tables)] : []);
  const found = await installedVersion(database, schema, tables);
  refuseNewer(found, schema, tables);
  // Asked first: where nothing is missing, no lock is taken, and no right to make tables is needed.
  if (dryRun || found === newest(schema)) {
    const from = found;
    const statements = [
      ...opening(from),
      ...pending(from).flatMap((migration) => migration.statements(tables)),
    ];
    return { from, to: newest(schema), statements };
  }
  return database.alone(tables.prefix, async (tx) => {
    await tx.run(schema.ledger(tables));
    const from = await installedVersion(tx, schema, tables);
    refuseNewer(from, schema, tables);
    const statements: string[] = opening(from);
    for (const migration of pending(from)) {
      for (const statement of migration.statements(tables)) {
        await tx.run(statement);
        statements.push(statement);
      }
      await tx.run(
        `insert into ${tables.migrations} (number, applied_at) values (?, ?)`,
        migration.number,
        now,
      );
    }
    return { from, to: newest(schema), statements };
  });
}

export async function verify(sql: Sql, schema: Schema, tables: Tables): Promise<void> {
  const version = await installedVersion(sql, schema, tables);
  refuseNewer(version, schema, tables);
  if (version < newest(schema)) {
    const found = version === 0 ? "has no Punctual tables" : `is at schema ${version}`;
    throw new PunctualError(
      "NOT_INSTALLED",
      `Expected schema ${newest(schema)} with table prefix "${tables.prefix}", but the database ${found}. Call install() first, or run: punctual install`,
    );
  }
}

function refuseNewer(version: number, schema: Schema, tables: Tables): void {
  if (version <= newest(schema)) return;
  throw new PunctualError(
    "SCHEMA_TOO_NEW",
    `The database is at schema ${version} (table prefix "${tables.prefix}"), newer than the ${newest(schema)} this version of Punctual knows. ` +
      "Update punctual, or use a database of its own.",
  );
}
