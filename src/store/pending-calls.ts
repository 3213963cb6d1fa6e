import { connect, Socket } from "node:net";
import { PunctualError } from "../errors.ts";
import { systemClock } from "../time.ts";

/** The options with which mysql2 asks for a socket. */
export interface SocketConfig {
  socketPath?: string;
  host: string;
  port: number;
  enableKeepAlive?: boolean;
  keepAliveInitialDelay?: number;
}

/**
 * The calls that wait for the database, and the sockets that they wait on. A process that must end gives them up: every
 * call rejects at once, and no socket keeps the process alive.
 */
export class PendingCalls {
  readonly #rejects = new Set<(error: unknown) => void>();
  readonly #sockets = new Set<Socket>();
  /**
   * When each call began to wait, the oldest first, by the system's monotonic clock. Without calls that may take long.
   */
  readonly #since = new Map<object, number>();
  /** When the database last answered, by the same clock. */
  answeredAt = 0;
  #timesGivenUp = 0;
  /** The last error after which a statement was retried, as the driver threw it; null: the database answered since. */
  fault: unknown = null;

  /** How long the database has not answered a call that waits, in milliseconds; 0: no call waits. */
  get unansweredFor(): number {
    for (const since of this.#since.values())
      return systemClock.monotonic() - Math.max(since, this.answeredAt);
    return 0;
  }

  /**
   * Calls `work` and settles as it does, or rejects as soon as `giveUp()` is called. `work` gets a function that tells
   * whether it was given up: it should send nothing more then. `mayTakeLong`: the call does not wait for the database
   * alone.
   */
  wait<Result>(work: (isGivenUp: () => boolean) => Promise<Result>, mayTakeLong = false): Promise<Result> {
    const before = this.#timesGivenUp;
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject);
      if (!mayTakeLong) this.#since.set(reject, systemClock.monotonic());
      const end = () => {
        this.#rejects.delete(reject);
        this.#since.delete(reject);
      };
      work(() => this.#timesGivenUp !== before).then(
        (result) => {
          end();
          this.fault = null;
          this.answeredAt = systemClock.monotonic();
          resolve(result);
        },
        (error) => {
          end();
          reject(error);
        },
      );
    });
  }

  /** Returns a socket for a driver that connects it by itself. */
  socket(): Socket {
    return this.#keep(new Socket());
  }

  /** Returns a socket that is connecting, with the options that mysql2 would set. */
  connect({ socketPath, host, port, enableKeepAlive, keepAliveInitialDelay }: SocketConfig): Socket {
    if (socketPath) return this.#keep(connect(socketPath));
    const socket = this.#keep(connect(port, host));
    if (enableKeepAlive) socket.on("connect", () => socket.setKeepAlive(true, keepAliveInitialDelay));
    return socket.setNoDelay(true);
  }

  /** Rejects every waiting call and destroys the sockets. Later calls use new connections. */
  giveUp(): void {
    this.#timesGivenUp++;
    for (const reject of this.#rejects) reject(givenUp());
    this.#rejects.clear();
    this.#since.clear();
    for (const socket of this.#sockets) socket.destroy();
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.once("close", () => this.#sockets.delete(socket));
  }
}

const GIVEN_UP = new WeakSet<object>();

export function givenUp(): PunctualError {
  const error = new PunctualError(
    "DATABASE_UNAVAILABLE",
    "The database did not answer before this worker or instance had to end. The statement may or may not have been carried out.",
  );
  GIVEN_UP.add(error);
  return error;
}

/** Whether a call was rejected because its process or instance has to end, rather than for an outage. */
export function isGivenUp(error: unknown): boolean {
  return typeof error === "object" && error !== null && GIVEN_UP.has(error);
}
