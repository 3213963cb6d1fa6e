import type { Migration } from "../sql/migrate.ts";

/** Schema 11: the order in which runs of a queue start (note 59). */
export const schema11: Migration = {
  number: 11,
  compatibleFrom: 3,
  statements: (t) => [
    `alter table ${t.queues} add column fair smallint not null default 0`,
    `alter table ${t.queues} add column patience bigint`,
  ],
};
