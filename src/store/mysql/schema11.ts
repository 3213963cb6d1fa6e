import type { Migration } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";

/** Schema 11: the order in which runs of a queue start (note 59). */
export const schema11: Migration = {
  number: 11,
  compatibleFrom: 3,
  statements: (t) => [
    ...addColumn(t.queues, "fair", "smallint not null default 0"),
    ...addColumn(t.queues, "patience", "bigint"),
  ],
};
