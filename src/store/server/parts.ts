import type { Clock } from "../../time.ts";
import type { HostReport } from "../maintenance.ts";
import type { ServerDatabase, Sql, Statement, Tables } from "../sql/database.ts";
import type { Schema } from "../sql/migrate.ts";

/** The parts of a store that the folder of a database server provides. */
export interface ServerParts {
  db: ServerDatabase;
  schema: Schema;
  tables: Tables;
  clock: Clock;
  /** Most connections that can be open at a time. */
  connections: number;
  /** Asks each host that the URL lists for its role; absent: it lists none. */
  hosts?(): Promise<HostReport[]>;
  /** Returns an Sql on the caller's transaction. Throws if `tx` is none, or is one on another database. */
  enter(tx: unknown): Promise<Sql>;
  /** Returns a statement that tells other processes of new runs, to be sent right behind their insert; null: none. */
  announcement(runs: number): Statement | null;
  /**
   * Tells other processes of new runs: within the caller's transaction if there is one. `runs` null: of another change,
   * which every worker must see at once.
   */
  announce(caller: Sql | null, runs: number | null): Promise<void>;
  /** See `Store`. */
  isWatched(): boolean;
  watch(onChange: () => void): () => void;
  /** Tells the wake-up how many workers there are. Absent if it wakes one worker alone. */
  crowd?(workers: number): void;
  /** Notifies the wake-up that an exchange is under way. Absent if the wake-up does not need to know. */
  exchanging?(work: Promise<unknown>): void;
  close(): Promise<void>;
}
