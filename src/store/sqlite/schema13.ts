import type { Migration } from "../sql/migrate.ts";

/** Schema 13: what operators ask of workers (note 63). Workers of older code ignore it. */
export const schema13: Migration = {
  number: 13,
  compatibleFrom: 3,
  statements: (t) => [`alter table ${t.workers} add column request text`],
};
