import type { Migration } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";
import { views } from "./views.ts";

/** Schema 6: attempts that do not count, runs that may have crashed, and views that show starts (note 46). */
export const schema6: Migration = {
  number: 6,
  compatibleFrom: 3,
  statements: (t) => [
    // Attempts that do not count towards the maximum of the retry policy.
    ...addColumn(t.runs, "uncounted", "int not null default 0"),
    ...addColumn(t.history, "uncounted", "int not null default 0"),
    // 1: a worker died that may have been executing the run.
    ...addColumn(t.runs, "suspect", "tinyint not null default 0"),
    ...views(t),
  ],
};
