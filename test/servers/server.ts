export type ServerKind = "postgres" | "mariadb" | "mysql";

export const serverKinds: ServerKind[] = ["postgres", "mariadb", "mysql"];

export interface Command {
  file: string;
  args: string[];
}

export interface Place {
  dataDir: string;
  port: number;
  /** Whether a commit waits for the disk. */
  durable: boolean;
}

/** A server program on this machine. */
export interface Program {
  version: string;
  /** The user that the server must run as; default: the user of the tests. */
  runAs?: { uid: number; gid: number };
  initialise(dataDir: string): Command;
  /** Copies the data of a running server, as the start of a standby that follows it. */
  follow?(dataDir: string, port: number): Command;
  serve(place: Place): Command;
  /** The signal that ends it fastest, when its data no longer matter. */
  abort: NodeJS.Signals;
  /** The signal that ends it in good order. */
  end: NodeJS.Signals;
}

export const label: Record<ServerKind, string> = {
  postgres: "PostgreSQL",
  mariadb: "MariaDB",
  mysql: "MySQL",
};

/** The URL of a server of ours; it names the database that every such server has. */
export function urlOf(kind: ServerKind, port: number): string {
  return kind === "postgres"
    ? `postgres://postgres@127.0.0.1:${port}/postgres`
    : `${kind}://root@127.0.0.1:${port}/mysql`;
}

/** The environment variable that may name an existing server. */
export function variableOf(kind: ServerKind): string {
  return `PUNCTUAL_TEST_${kind.toUpperCase()}_URL`;
}
