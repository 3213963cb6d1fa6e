import type { Param, Statement, Transaction } from "../sql/database.ts";
import type { TransactionProgress } from "../sql/retry.ts";
import { CATCH_UP, CHECK, type Cluster, FENCE, MAX_INLINE_LENGTH, queryAsText, RESTORE } from "./cluster.ts";
import type { MysqlConnections } from "./connections.ts";
import { inlineParams, paramsLength } from "./dialect.ts";
import type { MysqlConnection, MysqlResult } from "./driver.ts";
import { isConnectionLost, isDuplicate, isMissingSavepoint, rolledBack } from "./errors.ts";
import { isOwnError, markOwn, query, querySeveral, rowsOf } from "./query.ts";

export interface TransactionSettings
  extends Pick<MysqlConnections, "isolationLevelStatement" | "isMultiStatement"> {
  /** False: the caller's code shares the transaction. It sends statements of its own on the same connection. */
  isOurs: boolean;
  /** A statement without parameters that is sent with `start transaction`. */
  first?: string | undefined;
  /** Null: no other node accepts writes. */
  cluster: Cluster | null;
}

/**
 * Seconds after which the server ends a transaction of ours whose process is silent, and releases its locks: without
 * that, the locks of a host that has lost its power last until the server's TCP keepalive, two hours by default (note
 * 62). Outside a transaction, connections may be idle for as long as the server's configuration says.
 */
export const WAIT_TIMEOUT = 10;

const SET_WAIT_TIMEOUT = `set session wait_timeout = ${WAIT_TIMEOUT}`;
const RESTORE_WAIT_TIMEOUT = "session wait_timeout = default";

/** Runs `work` between `start transaction` and `commit`, and rolls back if it throws. */
export function runTransaction<Result>(
  connection: MysqlConnection,
  progress: TransactionProgress,
  work: (tx: Transaction) => Promise<Result>,
  settings: TransactionSettings,
): Promise<Result> {
  const { isOurs, cluster } = settings;
  const pipeline = new Pipeline(connection, settings);
  const missed = () => {
    if (progress.catchesUp) return;
    progress.catchesUp = true;
    throw markOwn(rolledBack("a row of this process has not reached this node yet"));
  };
  const inside = async () => {
    for (const statement of openingOf(settings, progress)) pipeline.post(statement, []);
    // Awaited: the caller's statements do not go through the pipeline and could overtake ours.
    if (!isOurs) await pipeline.send("do 0", []);
    progress.entered = true;
    const result = await work({
      handle: connection,
      again: progress.again,
      ...(cluster && { missed }),
      all: async <Row>(text: string, ...params: Param[]) => rowsOf<Row>(await pipeline.send(text, params)),
      run: async (text, ...params) => {
        if (isOurs) pipeline.post(text, params);
        else await pipeline.send(text, params);
      },
    });
    if (cluster) await pipeline.send(CHECK, []).catch(asRolledBack);
    progress.committing = true;
    await pipeline.send("commit", []).catch((error) => {
      // If the server has answered with an error, the transaction is known not to be committed.
      progress.committing = isConnectionLost(error);
      throw error;
    });
    return result;
  };
  return orRollBack(connection, () => inside().finally(() => pipeline.end()), restoringOf(settings));
}

/** The caller's code may be silent for as long as it likes, and a session of the caller's keeps its settings. */
const hasWaitTimeout = ({ isOurs, isolationLevelStatement }: TransactionSettings) =>
  isOurs && isolationLevelStatement === null;

/** The statements that open a transaction. */
function openingOf(settings: TransactionSettings, { again, catchesUp }: TransactionProgress): string[] {
  const { isolationLevelStatement, first, cluster } = settings;
  return [
    ...(hasWaitTimeout(settings) ? [SET_WAIT_TIMEOUT] : []),
    ...(cluster && catchesUp ? [CATCH_UP[cluster]] : []),
    ...(isolationLevelStatement ? [isolationLevelStatement] : []),
    ...(cluster ? FENCE : ["start transaction"]),
    ...(first && !again ? [first] : []),
  ];
}

/** The statement that restores the session's settings once the transaction has ended; null: it has changed none. */
function restoringOf(settings: TransactionSettings): string | null {
  const { cluster } = settings;
  const settingsToRestore = [
    ...(cluster ? [RESTORE[cluster]] : []),
    ...(hasWaitTimeout(settings) ? [RESTORE_WAIT_TIMEOUT] : []),
  ];
  return settingsToRestore.length > 0 ? `set ${settingsToRestore.join(", ")}` : null;
}

function asRolledBack(error: unknown): never {
  throw isMissingSavepoint(error) ? markOwn(rolledBack("another node's transaction came first")) : error;
}

/**
 * Rolls back if `work` throws. Throws `RollbackError` if that fails too. Sends `restore` once the transaction has
 * ended, without waiting for the answer: the connection executes it before anything else.
 */
export async function orRollBack<Result>(
  connection: MysqlConnection,
  work: () => Promise<Result>,
  restore: string | null = null,
): Promise<Result> {
  const end = () => void (restore && query(connection, restore, []).catch(() => {}));
  try {
    const result = await work();
    end();
    return result;
  } catch (error) {
    if (isOwnError(error) && isConnectionLost(error)) throw error;
    await query(connection, "rollback", []).catch(() => {
      throw new RollbackError(error);
    });
    end();
    throw error;
  }
}

/** The rollback failed too, so that the connection must not be used again. `cause` is the error before it. */
export class RollbackError extends Error {
  constructor(cause: unknown) {
    super("the transaction could not be rolled back", { cause });
  }
}

interface UnsentStatement extends Statement {
  isAwaited: boolean;
  resolve(result: MysqlResult): void;
  reject(error: unknown): void;
}

/**
 * Sends the statements of one transaction in order. Statements whose answers are not awaited are held back until one
 * follows that is awaited; all of them are then sent together, in one packet if the connection allows that.
 */
class Pipeline {
  readonly #connection: MysqlConnection;
  readonly #isMultiStatement: boolean;
  readonly #isClustered: boolean;
  #unsent: UnsentStatement[] = [];
  #willFlush = false;
  #last: Promise<void> = Promise.resolve();
  #failure: { error: unknown } | null = null;

  constructor(
    connection: MysqlConnection,
    { isMultiStatement, cluster }: Pick<TransactionSettings, "isMultiStatement" | "cluster">,
  ) {
    this.#connection = connection;
    this.#isMultiStatement = isMultiStatement;
    this.#isClustered = cluster !== null;
  }

  /** Sends a statement in the next microtask, together with the unsent ones before it, and returns its answer. */
  send(text: string, params: Param[]): Promise<MysqlResult> {
    const answer = this.#add(text, params, true);
    if (!this.#willFlush) {
      this.#willFlush = true;
      queueMicrotask(() => this.#flush());
    }
    return answer;
  }

  /** Adds a statement whose answer is not awaited; the next `send` throws its error. */
  post(text: string, params: Param[]): void {
    this.#add(text, params, false).catch(() => {});
  }

  /** Refuses later statements: another transaction may have the connection by then. */
  end(): void {
    this.#failure ??= { error: new Error("The transaction has ended.") };
  }

  #add(text: string, params: Param[], isAwaited: boolean): Promise<MysqlResult> {
    return new Promise((resolve, reject) => {
      this.#unsent.push({ text, params, isAwaited, resolve, reject });
    });
  }

  #flush(): void {
    const statements = this.#unsent;
    this.#unsent = [];
    this.#willFlush = false;
    this.#last = this.#last.then(() => this.#sendAll(statements));
  }

  async #sendAll(statements: UnsentStatement[]): Promise<void> {
    for (const packet of this.#packets(statements)) {
      if (!this.#failure) await this.#sendPacket(packet);
      for (const { reject } of this.#failure ? packet : []) reject(this.#failure!.error);
    }
  }

  async #sendPacket(packet: UnsentStatement[]): Promise<void> {
    try {
      const results = await this.#answersTo(packet);
      for (const [index, { resolve }] of packet.entries()) resolve(results[index]!);
    } catch (error) {
      const [statement, ...others] = packet as [UnsentStatement, ...UnsentStatement[]];
      // A duplicate key undoes this one statement only: its caller gets the error, and the transaction continues.
      if (statement.isAwaited && others.length === 0 && isDuplicate(error)) statement.reject(error);
      else this.#failure = { error };
    }
  }

  async #answersTo(packet: UnsentStatement[]): Promise<MysqlResult[]> {
    const [{ text, params }] = packet as [UnsentStatement, ...UnsentStatement[]];
    const send = this.#isClustered ? queryAsText : query;
    if (packet.length === 1) return [await send(this.#connection, text, params)];
    return querySeveral(this.#connection, packet.map(inlineParams));
  }

  #packets(statements: UnsentStatement[]): UnsentStatement[][] {
    const packets: UnsentStatement[][] = [];
    let isOpen = false;
    for (const statement of statements) {
      const fits = this.#isMultiStatement && paramsLength(statement) <= MAX_INLINE_LENGTH;
      if (isOpen && fits) packets.at(-1)!.push(statement);
      else packets.push([statement]);
      isOpen = fits;
    }
    return packets;
  }
}
