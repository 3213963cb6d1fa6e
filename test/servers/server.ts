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

/** A server program that was found on this machine. */
export interface Program {
  version: string;
  /** The user that the server has to run as; default: the user of the tests. */
  runAs?: { uid: number; gid: number };
  initialise(dataDir: string): Command;
  /** Copies the data of a running server, as the start of a standby that follows it. */
  follow?(dataDir: string, port: number): Command;
  serve(place: Place): Command;
  /** With what it ends soonest and leaves nothing behind, when its data do not matter any more. */
  abort: NodeJS.Signals;
  /** With what it ends in good order. */
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

/** Where a URL of somebody's own server may stand. */
export function variableOf(kind: ServerKind): string {
  return `PUNCTUAL_TEST_${kind.toUpperCase()}_URL`;
}
