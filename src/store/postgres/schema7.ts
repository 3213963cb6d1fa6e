import type { Migration } from "../sql/migrate.ts";

/** Schema 7: groups of failures that operators have muted (note 52). */
export function schema7(name: string): Migration {
  return {
    number: 7,
    compatibleFrom: 3,
    statements: (t) => [
      `create table ${t.mutes} (
         fingerprint ${name} primary key,
         muted_at bigint not null,
         muted_by text,
         reason text,
         muted_until bigint
       )`,
    ],
  };
}
