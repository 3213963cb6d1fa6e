import type { Sql, Tables } from "../sql/database.ts";
import type { PostgresDatabase } from "./database.ts";

export async function enter(_tx: unknown, _db: PostgresDatabase, _tables: Tables): Promise<Sql> {
  throw new Error("not yet");
}
