import { PunctualError } from "../../errors.ts";

/** How long an installer rests, in milliseconds, before it asks once more for tables that were in use. */
export const BETWEEN_INSTALLS: { first: number; longest: number } = { first: 500, longest: 3000 };

export function tablesInUse(cause: unknown): PunctualError {
  return new PunctualError(
    "DATABASE_BUSY",
    "install() could not change the tables: for 30 s another session has had one of them in use. Nothing that Punctual does takes that long. " +
      "End the longest open transaction (PostgreSQL: pg_stat_activity by xact_start; MySQL and MariaDB: information_schema.innodb_trx by trx_started, and show processlist), then call install() again.",
    { cause },
  );
}
