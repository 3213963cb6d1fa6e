import { PunctualError } from "../../errors.ts";
import type { Param, Statement, Transaction } from "../sql/database.ts";
import { TransactionProgress } from "../sql/retry.ts";
import type { HeldClient } from "./connections.ts";
import type { PgClient, PgResult } from "./driver.ts";
import { isConnectionLost, isStalePlan, isStatementUnknown } from "./errors.ts";
import { gather, type QueryOptions, query, type StatementNames } from "./query.ts";

/** Sets the isolation level of the transaction, not of the session: a pooler may swap sessions between transactions. */
const BEGIN = "begin isolation level read committed";

/**
 * Keeps prepared plans good for full tables: PostgreSQL would plan a sequential scan while a table is empty, and keep
 * that plan. `enable_seqscan = off` only adds a high cost to such scans. The cost would trigger JIT compilation, which
 * takes longer than our statements, so JIT is off too.
 */
const PLAN_SETTINGS = "set local enable_seqscan = off; set local jit = off";

/**
 * The server ends a transaction of ours whose process is silent for longer, and releases its locks: without that, the
 * locks of a host that has lost its power last until the server's TCP keepalive, two hours by default (note 62).
 */
const SET_IDLE_TIMEOUT = "set local idle_in_transaction_session_timeout = '10s'";
const BEGIN_OURS = `${BEGIN}; ${PLAN_SETTINGS}; ${SET_IDLE_TIMEOUT}`;

/** The caller's code may be silent for any time while its host answers probes: the server probes it for 30 s. */
const SET_KEEPALIVE =
  "set local tcp_keepalives_idle = 10; set local tcp_keepalives_interval = 5; set local tcp_keepalives_count = 4";
const BEGIN_CALLERS = `${BEGIN}; ${SET_KEEPALIVE}`;

/** The same for the statements of one message, which are a transaction by themselves. */
const SETTINGS_OURS = `set transaction isolation level read committed; ${PLAN_SETTINGS}`;

/** A statement that waits for a lock longer gives up its place in the lock queue, and its transaction is retried. */
export const SET_LOCK_TIMEOUT = "set local lock_timeout = '1s'";

export interface TransactionSettings {
  /** False: the caller's code shares the transaction. It sends statements of its own on the same client. */
  isOurs: boolean;
  /** A statement without parameters that is sent in one packet with `begin`. */
  first?: string | undefined;
  /** As `TransactionOptions.lockTimeout`. */
  lockTimeout?: boolean | undefined;
  /** Longest wait for each answer, in milliseconds; `NO_TIMEOUT`: however long it takes. */
  timeout?: number | undefined;
  names: StatementNames;
}

/** Runs `work` between begin and commit, rolls back if it throws, and releases the connection. */
export async function runTransaction<Result>(
  { client, stopPipelining, release }: HeldClient,
  progress: TransactionProgress,
  work: (tx: Transaction) => Promise<Result>,
  { isOurs, first, lockTimeout, timeout, names }: TransactionSettings,
): Promise<Result> {
  let broken = true;
  const pipeline = new Pipeline(client, { timeout, names: isOurs ? names : undefined });
  try {
    if (!isOurs) stopPipelining();
    const opening = [
      isOurs ? BEGIN_OURS : BEGIN_CALLERS,
      ...(lockTimeout ? [SET_LOCK_TIMEOUT] : []),
      ...(first && !progress.again ? [first] : []),
    ].join("; ");
    if (isOurs) pipeline.post(opening, []);
    // Awaited: the caller's statements do not go through the pipeline and could overtake ours.
    else await pipeline.send(opening, []);
    progress.entered = true;
    const result = await work({
      handle: client,
      again: progress.again,
      all: async <Row>(text: string, ...params: Param[]) => (await pipeline.send(text, params)).rows as Row[],
      run: async (text, ...params) => {
        if (isOurs) pipeline.post(text, params);
        else await pipeline.send(text, params);
      },
    });
    progress.committing = true;
    await commit(pipeline);
    pipeline.end();
    broken = false;
    return result;
  } catch (error) {
    pipeline.end();
    // The server has answered with an error: the transaction is known not to be committed.
    if (!isConnectionLost(error)) {
      progress.committing = false;
      broken = !(await rollBack(client));
    }
    throw error;
  } finally {
    release(broken);
  }
}

/**
 * Runs one statement in a transaction of its own, and releases the connection. Once the statement is prepared on this
 * connection, it is executed in the same message as the settings: the server answers once, and the process wakes up
 * once (note 51).
 */
export async function runAtOnce(
  held: HeldClient,
  { text, params }: Statement,
  names: StatementNames,
): Promise<unknown[]> {
  const execution = names.execution(held.client, text, params);
  if (execution !== undefined) {
    try {
      const results = await query(held.client, `${SETTINGS_OURS}; ${execution}`, []);
      held.release(false);
      return (results as unknown as PgResult[]).at(-1)!.rows;
    } catch (error) {
      if (isStalePlan(error)) names.renew(text);
      else if (isStatementUnknown(error)) names.stopExecuting();
      else {
        held.release(isConnectionLost(error));
        throw error;
      }
    }
  }
  const settings = { isOurs: true, names };
  return runTransaction(held, new TransactionProgress(), (tx) => tx.all(text, ...params), settings);
}

/**
 * Sends the statements of one transaction in order. With pg's pipeline mode a statement is sent before the ones ahead
 * of it are answered, so that a statement whose answer is not awaited costs no round trip.
 */
class Pipeline {
  readonly #client: PgClient;
  readonly #options: QueryOptions;
  #last: Promise<unknown> = Promise.resolve();
  #failure: { error: unknown } | null = null;

  constructor(client: PgClient, options: QueryOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Sends a statement and returns its answer. After the first error of the transaction, every statement throws that
   * error: the later ones fail only because of it.
   */
  async send(text: string, params: Param[]): Promise<PgResult> {
    const { timeout, names } = this.#options;
    const ask = async () => {
      if (this.#failure) throw this.#failure.error;
      gather(this.#client);
      return query(this.#client, text, params, { timeout, names: params.length > 0 ? names : undefined });
    };
    const answer = this.#client.pipeline ? ask() : this.#last.then(ask);
    this.#last = answer;
    const result = await answer.catch((error) => {
      this.#failure ??= { error };
    });
    if (this.#failure) throw this.#failure.error;
    return result!;
  }

  /** Sends a statement without waiting for its answer; the next `send` throws its error. */
  post(text: string, params: Param[]): void {
    this.send(text, params).catch(() => {});
  }

  /** Refuses later statements: another transaction may have the connection by then. */
  end(): void {
    this.#failure ??= { error: new Error("The transaction has ended.") };
  }
}

/**
 * PostgreSQL rolls back a transaction in which a statement has failed when it is told to commit, and reports no error.
 */
async function commit(pipeline: Pipeline): Promise<void> {
  const { command } = await pipeline.send("commit", []);
  if (command === "COMMIT") return;
  throw new PunctualError(
    "DATABASE",
    "The transaction was rolled back instead of committed: one of its statements had failed, and your code caught the error. Let the error leave the function, or use a savepoint.",
  );
}

/** Whether the rollback was answered: if not, the connection must not be used again. */
async function rollBack(client: PgClient): Promise<boolean> {
  try {
    await query(client, "rollback", []);
    return true;
  } catch {
    return false;
  }
}
