import { connect, Socket } from "node:net";
import { PunctualError } from "../errors.ts";
import { systemClock } from "../time.ts";

/** What mysql2 knows of the socket it wants. */
export interface SocketConfig {
  socketPath?: string;
  host: string;
  port: number;
  enableKeepAlive?: boolean;
  keepAliveInitialDelay?: number;
}

/**
 * Everything that waits for the database, with the sockets it waits on. A process that has to end gives it all up: each
 * statement rejects at once, and no socket keeps the process alive.
 */
export class Pending {
  readonly #rejects = new Set<(error: unknown) => void>();
  readonly #sockets = new Set<Socket>();
  /** When each began to wait that should not take long; by the system's clock, the oldest first. */
  readonly #since = new Map<object, number>();
  /** When the last answer came, by the system's clock. */
  answeredAt = 0;
  #timesGivenUp = 0;
  /** The last error of a statement that is tried again, as the driver threw it; null: there was an answer since. */
  fault: unknown = null;

  /** How many milliseconds the database has left unanswered what it was asked. */
  get unansweredFor(): number {
    for (const since of this.#since.values())
      return systemClock.monotonic() - Math.max(since, this.answeredAt);
    return 0;
  }

  /**
   * `work` gets a function that tells whether it was given up: it should begin nothing more then. `mayTakeLong`: it is
   * not the database that it waits for.
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

  /** A socket for a driver that connects it by itself. */
  socket(): Socket {
    return this.#keep(new Socket());
  }

  /** A socket that is being connected, as mysql2 would do it. */
  connect({ socketPath, host, port, enableKeepAlive, keepAliveInitialDelay }: SocketConfig): Socket {
    if (socketPath) return this.#keep(connect(socketPath));
    const socket = this.#keep(connect(port, host));
    if (enableKeepAlive) socket.on("connect", () => socket.setKeepAlive(true, keepAliveInitialDelay));
    return socket.setNoDelay(true);
  }

  /** What is asked for later goes over new connections. */
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

export function givenUp(): PunctualError {
  return new PunctualError(
    "DATABASE_UNAVAILABLE",
    "The database had not answered when this worker or instance had to end. Whether the statement was carried out is not known.",
  );
}
