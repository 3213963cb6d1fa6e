import type { Migration } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";

/** Schema 13: what operators ask of workers (note 63). Workers of older code ignore it. */
export const schema13: Migration = {
  number: 13,
  compatibleFrom: 3,
  statements: (t) => addColumn(t.workers, "request", "text"),
};
