import type { Migration } from "../sql/migrate.ts";

/** Schema 7: groups of failures that operators have muted (note 52). */
export const schema7: Migration = {
  number: 7,
  compatibleFrom: 3,
  statements: (t) => [
    `create table ${t.mutes} (
       fingerprint text primary key,
       muted_at integer not null,
       muted_by text,
       reason text,
       muted_until integer
     ) strict`,
  ],
};
