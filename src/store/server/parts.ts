import type { Clock } from "../../time.ts";
import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";
import type { Schema } from "../sql/migrate.ts";

/** What a database server's folder gives to make a store of it. */
export interface ServerParts {
  db: ServerDatabase;
  schema: Schema;
  tables: Tables;
  clock: Clock;
  /** How many there are at most. */
  connections: number;
  /** The caller's transaction, as statements go through it. Refuses what is none, or is one elsewhere. */
  enter(tx: unknown): Promise<Sql>;
  /** Tells other processes that there are new runs: in the caller's transaction where there is one, else by itself. */
  announce(caller: Sql | null): Promise<void>;
  watch(onChange: () => void): () => void;
  close(): Promise<void>;
}
