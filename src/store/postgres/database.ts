import { PunctualError } from "../../errors.ts";
import type { MissingObject, VacuumReport } from "../maintenance.ts";
import { Pending } from "../pending.ts";
import { BETWEEN_INSTALLS, tablesInUse } from "../server/installing.ts";
import { takeSpare } from "../server/spare.ts";
import type {
  ColumnType,
  Param,
  ServerDatabase,
  Sql,
  Statement,
  Tables,
  Transaction,
  TransactionOptions,
} from "../sql/database.ts";
import { lookUp, using } from "../sql/dialect.ts";
import { PATIENCE, type Patience, patiently, Try } from "../sql/patience.ts";
import type { Connections, Held } from "./connections.ts";
import * as dialect from "./dialect.ts";
import type { PgClient } from "./driver.ts";
import {
  isConflict,
  isIdTaken,
  isLockTimeout,
  isLost,
  isMistake,
  isStale,
  isUnprepared,
  translate,
} from "./errors.ts";
import { PreparedNames, query } from "./query.ts";
import { beside } from "./schema.ts";
import { Conversation } from "./transaction.ts";
import { vacuumReport } from "./vacuum.ts";

/** No session state, so that a pooler may give each transaction to another session; hence the level with each. */
const BEGIN = "begin isolation level read committed";

/**
 * A plan is kept that was made while the tables were empty: it must be the one for full tables. And the price put on
 * reading a whole table must not make PostgreSQL compile what takes less than a millisecond.
 */
const BEGIN_OURS = `${BEGIN}; set local enable_seqscan = off; set local jit = off`;

/**
 * A migration that waits for a table that somebody reads makes every dispatch wait behind it. It gives up its place in
 * line after a second, and tries again when the others are through.
 */
const LOCK_BRIEFLY = "set local lock_timeout = '1s'";

/** A server that was never reached is more likely not there. */
const FIRST_PATIENCE = 5000;

/** PostgreSQL, from version 13 on. */
export class PostgresDatabase implements ServerDatabase {
  readonly name = "postgres";
  readonly forUpdate = " for update";
  readonly skipLocked = " for update skip locked";
  readonly text = "?::text";
  readonly tagged = "jsonb_exists(tags::jsonb, ?)";
  readonly key = "substr(lane, char_length(name) + 2)";
  readonly like: typeof dialect.like = dialect.like;
  readonly pattern: typeof dialect.pattern = dialect.pattern;
  readonly scalar: typeof dialect.scalar = dialect.scalar;
  readonly clock = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now";
  readonly insertsLock = false;
  readonly unlessKeyHeld = " on conflict (unique_key) where unique_key is not null do nothing";
  readonly isIdTaken: (error: unknown) => boolean = isIdTaken;
  readonly upsert: typeof dialect.upsert = dialect.upsert;
  readonly updateFrom: typeof dialect.updateFrom = dialect.updateFrom;
  readonly deleteFrom: typeof dialect.deleteFrom = dialect.deleteFrom;
  readonly move: typeof dialect.move = dialect.move;
  readonly lookUp: typeof lookUp = lookUp;
  readonly stretch: typeof dialect.stretch = dialect.stretch;
  readonly using: typeof using = using;
  readonly readyQueues: typeof dialect.readyQueues = dialect.readyQueues;
  readonly readyLanes: typeof dialect.readyLanes = dialect.readyLanes;
  readonly #names = new PreparedNames();
  readonly #connections: Connections;
  readonly #pending: Pending;
  /** The server has answered once. */
  #reached = false;
  #losses = 0;
  #closed = false;

  constructor(connections: Connections, pending: Pending = new Pending()) {
    this.#connections = connections;
    this.#pending = pending;
  }

  readonly rows: (columns: Record<string, ColumnType>) => string = dialect.rows;

  /** The insert passes over them. */
  isKeyHeld(): boolean {
    return false;
  }

  lockOnly(lock: string, alias: string): string {
    return lock.replace(" for update", ` for update of ${alias}`);
  }

  async about(): Promise<{ version: string; settings: Record<string, string> }> {
    const [row] = await this.all<{ version: string }>("select current_setting('server_version') as version");
    return { version: row!.version, settings: {} };
  }

  vacuum(tables: Tables): Promise<VacuumReport> {
    return vacuumReport(this, tables);
  }

  /** An index whose making was broken off is there, but is not used. */
  objects(tables: Tables): Statement {
    const text = `select c.relname as name from pg_class c left join pg_index i on i.indexrelid = c.oid
       where coalesce(i.indisvalid, true)
         and c.relnamespace = (select relnamespace from pg_class where oid = to_regclass(cast(? as text)))`;
    return { text, params: [tables.migrations] };
  }

  /** An index is built beside the work of others, which no transaction can do. One that was broken off has the name. */
  async restore(tables: Tables, { name, kind, statement }: MissingObject): Promise<void> {
    if (kind !== "index") return this.alone(tables.prefix, (tx) => tx.run(statement));
    await this.#once(`drop index concurrently if exists ${beside(tables, name)}`, [], { limit: 0 });
    await this.#once(statement, [], { limit: 0 });
  }

  async newIds(sql: Sql, tables: Tables, count: number): Promise<number[]> {
    const rows = await sql.all<{ id: number }>(
      `select nextval('${dialect.idSequence(tables)}') as id from generate_series(1, ?)`,
      count,
    );
    return rows.map(({ id }) => id).sort((a, b) => a - b);
  }

  beside(tx: Sql): Sql {
    const all = async <Row>(text: string, ...params: Param[]): Promise<Row[]> => {
      const spare = await takeSpare(this.#connections);
      return spare ? this.#on<Row>(spare, text, params) : tx.all<Row>(text, ...params);
    };
    return { all, run: async (text, ...params) => void (await all(text, ...params)) };
  }

  all<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    return this.#patiently(() => this.#once<Row>(text, params));
  }

  /** On any connection, by itself. */
  async #once<Row>(
    text: string,
    params: Param[],
    how: { prepared?: PreparedNames; limit?: number } = {},
  ): Promise<Row[]> {
    return this.#on(await this.#take(text), text, params, how);
  }

  async #on<Row>(
    held: Held,
    text: string,
    params: Param[],
    { prepared, limit }: { prepared?: PreparedNames; limit?: number } = {},
  ): Promise<Row[]> {
    let broken = true;
    try {
      const result = await query(held.client, text, params, limit, prepared);
      broken = false;
      return result.rows as Row[];
    } catch (error) {
      broken = isLost(error);
      throw error;
    } finally {
      held.giveBack(broken);
    }
  }

  async run(text: string, ...params: Param[]): Promise<void> {
    await this.all(text, ...params);
  }

  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    { retry = true, first }: TransactionOptions = {},
  ): Promise<Result> {
    return this.#transaction(work, retry, { first });
  }

  async both(one: Statement, other: Statement, again: (tx: Transaction) => Promise<void>): Promise<void> {
    const text = `with one as (${one.text}) ${other.text}`;
    const params = [...one.params, ...other.params];
    try {
      await this.#pending.wait(() => this.#once(text, params, { prepared: this.#names }));
    } catch (error) {
      if (!this.#isPassing(error) || this.#closed) throw error;
      await this.transaction(again);
    }
  }

  /** Waits for whoever else installs, however long it takes them. */
  alone<Result>(prefix: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.#transaction(
      async (tx) => {
        await tx.all("select pg_advisory_xact_lock(hashtextextended(?, 0))", `punctual install ${prefix}`);
        await tx.run(LOCK_BRIEFLY);
        return work(tx);
      },
      true,
      { limit: 0, waits: BETWEEN_INSTALLS },
    ).catch((error) => {
      throw isLockTimeout(error) ? tablesInUse(error) : error;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connections.close();
  }

  #transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    retry: boolean,
    { waits, ...rest }: { first?: string | undefined; limit?: number; waits?: Patience["waits"] },
  ): Promise<Result> {
    const state = new Try();
    return this.#patiently(
      async () => {
        state.begin();
        const held = await this.#take();
        return this.#inside(held, state, work, { ours: retry, ...rest });
      },
      () => retry || !state.entered,
      !retry || rest.limit === 0,
      waits,
    );
  }

  async #inside<Result>(
    { client, lend, giveBack }: Held,
    state: Try,
    work: (tx: Transaction) => Promise<Result>,
    { ours, first, limit }: { ours: boolean; first?: string | undefined; limit?: number },
  ): Promise<Result> {
    let broken = true;
    const talk = new Conversation(client, { limit, prepared: ours ? this.#names : undefined });
    try {
      if (!ours) lend();
      const begin = ours ? BEGIN_OURS : BEGIN;
      const opening = first && !state.again ? `${begin}; ${first}` : begin;
      if (ours) talk.post(opening, []);
      // What others send on the connection must not overtake what is ours.
      else await talk.send(opening, []);
      state.entered = true;
      const result = await work({
        handle: client,
        again: state.again,
        all: async <Row>(text: string, ...params: Param[]) => (await talk.send(text, params)).rows as Row[],
        run: async (text, ...params) => {
          if (ours) talk.post(text, params);
          else await talk.send(text, params);
        },
      });
      state.committing = true;
      await commit(talk);
      talk.end();
      broken = false;
      return result;
    } catch (error) {
      talk.end();
      // An answer to commit, be it a refusal, means that nothing is left open or in doubt.
      if (!isLost(error)) {
        state.committing = false;
        broken = !(await rolledBack(client));
      }
      throw error;
    } finally {
      giveBack(broken);
    }
  }

  /** `mayRetry` is asked after each fault. */
  #patiently<Result>(
    work: () => Promise<Result>,
    mayRetry: () => boolean = () => true,
    mayTakeLong = false,
    waits?: Patience["waits"],
  ): Promise<Result> {
    return patiently(work, {
      ...(waits && { waits }),
      mayTakeLong,
      pending: this.#pending,
      isPassing: (error) => this.#isPassing(error) && mayRetry() && !this.#closed,
      translate: (error) => error,
      patience: () => (this.#reached ? PATIENCE : FIRST_PATIENCE),
    });
  }

  get losses(): number {
    return this.#losses + this.#connections.idleLosses;
  }

  #isPassing(error: unknown): boolean {
    if (isLost(error)) this.#losses++;
    if (isUnprepared(error)) {
      this.#names.stop();
      return true;
    }
    if (isStale(error) || isConflict(error)) return true;
    return isLost(error) && this.#connections.renewable && (this.#reached || !isMistake(error));
  }

  async #take(statement?: string): Promise<Held> {
    try {
      const held = await this.#connections.take(statement);
      this.#reached = true;
      return held;
    } catch (error) {
      throw translate(error);
    }
  }
}

/** PostgreSQL answers the commit of a transaction in which a statement has failed by rolling it back, without an error. */
async function commit(talk: Conversation): Promise<void> {
  const { command } = await talk.send("commit", []);
  if (command === "COMMIT") return;
  throw new PunctualError(
    "DATABASE",
    "The transaction was not committed: one of its statements had failed, and the error was passed over. Let it end the transaction, or use a savepoint.",
  );
}

async function rolledBack(client: PgClient): Promise<boolean> {
  try {
    await query(client, "rollback", []);
    return true;
  } catch {
    return false;
  }
}
