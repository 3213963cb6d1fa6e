import { didYouMean } from "../../input/names.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";

export interface DatabaseChoice {
  name: string;
  url: string;
  /** The driver package to install; null: none. */
  driver: string | null;
  /** The pattern for .gitignore; null: none. */
  ignored: string | null;
}

const CHOICES: Record<string, DatabaseChoice> = {
  sqlite: { name: "SQLite", url: "sqlite:./punctual.db", driver: null, ignored: "punctual.db*" },
  postgres: { name: "PostgreSQL", url: "postgres://localhost:5432/postgres", driver: "pg", ignored: null },
  mysql: { name: "MySQL", url: "mysql://root@localhost:3306/punctual", driver: "mysql2", ignored: null },
  mariadb: {
    name: "MariaDB",
    url: "mariadb://root@localhost:3306/punctual",
    driver: "mysql2",
    ignored: null,
  },
};

export function databaseNamed(name: string): DatabaseChoice {
  const database = Object.hasOwn(CHOICES, name) ? CHOICES[name] : undefined;
  if (database) return database;
  const known = Object.keys(CHOICES);
  throw new Exit(
    exitCodes.usage,
    `init expected --db ${known.join(", ")}, got ${plain(name)}.${didYouMean(name, known)} The URL goes into the config, or into PUNCTUAL_DATABASE_URL.`,
  );
}
