import type { Param, Statement, Transaction } from "../sql/database.ts";
import type { TransactionProgress } from "../sql/retry.ts";
import type { MysqlConnections } from "./connections.ts";
import { inlineParams, paramsLength } from "./dialect.ts";
import type { MysqlConnection, MysqlResult } from "./driver.ts";
import { isConnectionLost, isDuplicate } from "./errors.ts";
import { isOwnError, query, querySeveral, rowsOf } from "./query.ts";

/**
 * Longest parameters, in characters, that are inlined into a statement of a packet. A statement with longer ones is
 * sent by itself and prepared: parsing the text each time would cost more than the round trip.
 */
export const MAX_INLINE_LENGTH: number = 32 * 1024;

export interface TransactionSettings
  extends Pick<MysqlConnections, "isolationLevelStatement" | "isMultiStatement"> {
  /** False: the caller's code shares the transaction. It sends statements of its own on the same connection. */
  isOurs: boolean;
  /** A statement without parameters that is sent with `start transaction`. */
  first?: string | undefined;
}

/** Runs `work` between `start transaction` and `commit`, and rolls back if it throws. */
export function runTransaction<Result>(
  connection: MysqlConnection,
  progress: TransactionProgress,
  work: (tx: Transaction) => Promise<Result>,
  { isolationLevelStatement, isMultiStatement, isOurs, first }: TransactionSettings,
): Promise<Result> {
  const pipeline = new Pipeline(connection, isMultiStatement);
  const inside = async () => {
    if (isolationLevelStatement) pipeline.post(isolationLevelStatement, []);
    pipeline.post("start transaction", []);
    if (first && !progress.again) pipeline.post(first, []);
    // Awaited: the caller's statements do not go through the pipeline and could overtake ours.
    if (!isOurs) await pipeline.send("do 0", []);
    progress.entered = true;
    const result = await work({
      handle: connection,
      again: progress.again,
      all: async <Row>(text: string, ...params: Param[]) => rowsOf<Row>(await pipeline.send(text, params)),
      run: async (text, ...params) => {
        if (isOurs) pipeline.post(text, params);
        else await pipeline.send(text, params);
      },
    });
    progress.committing = true;
    await pipeline.send("commit", []).catch((error) => {
      // If the server has answered with an error, the transaction is known not to be committed.
      progress.committing = isConnectionLost(error);
      throw error;
    });
    return result;
  };
  return orRollBack(connection, () => inside().finally(() => pipeline.end()));
}

/** Rolls back if `work` throws. Throws `RollbackFailed` if that fails too. */
export async function orRollBack<Result>(
  connection: MysqlConnection,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isOwnError(error) && isConnectionLost(error)) throw error;
    await query(connection, "rollback", []).catch(() => {
      throw new RollbackFailed(error);
    });
    throw error;
  }
}

/** The rollback failed too, so that the connection must not be used again. `cause` is the error before it. */
export class RollbackFailed extends Error {
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
  #unsent: UnsentStatement[] = [];
  #willFlush = false;
  #last: Promise<void> = Promise.resolve();
  #failure: { error: unknown } | null = null;

  constructor(connection: MysqlConnection, isMultiStatement: boolean) {
    this.#connection = connection;
    this.#isMultiStatement = isMultiStatement;
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
    if (packet.length === 1) return [await query(this.#connection, text, params)];
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
