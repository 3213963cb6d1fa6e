import type { Migration } from "../sql/migrate.ts";

/** Schema 14: the errors of a job since its last success, so that a mute hides no other error (note 52). */
export const schema14: Migration = {
  number: 14,
  compatibleFrom: 3,
  statements: (t) => [`alter table ${t.jobs} add column errors text`],
};
