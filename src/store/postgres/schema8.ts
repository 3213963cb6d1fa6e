import type { Migration } from "../sql/migrate.ts";

/** Schema 8: a column of the gates that only clusters of MySQL and MariaDB use (note 53). The tables stay the same. */
export const schema8: Migration = {
  number: 8,
  compatibleFrom: 3,
  statements: (t) => [`alter table ${t.gates} add column turn bigint not null default 0`],
};
