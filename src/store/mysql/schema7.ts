import type { Migration } from "../sql/migrate.ts";

/** Schema 7: groups of failures that operators have muted (note 52). `name` is the type of names. */
export function schema7(name: string, table: string): Migration {
  return {
    number: 7,
    compatibleFrom: 3,
    statements: (t) => [
      `create table if not exists ${t.mutes} (
         fingerprint ${name} not null primary key,
         muted_at bigint not null,
         muted_by longtext,
         reason longtext,
         muted_until bigint
       ) ${table}`,
    ],
  };
}
