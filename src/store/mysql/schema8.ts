import type { Migration } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";

/** Schema 8: a column of the gates for clusters with several writers, which compare only rows that change (note 53). */
export const schema8: Migration = {
  number: 8,
  compatibleFrom: 3,
  statements: (t) => addColumn(t.gates, "turn", "bigint not null default 0"),
};
