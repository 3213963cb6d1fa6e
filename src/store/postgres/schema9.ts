import type { Migration } from "../sql/migrate.ts";
import { TIMELINE } from "./timeline.ts";

/** Schema 9: the timeline on which ids were last taken (note 54). */
export const schema9: Migration = {
  number: 9,
  compatibleFrom: 3,
  statements: (t) => [
    `create table ${t.ids} (id smallint primary key, timeline text not null)`,
    `insert into ${t.ids} (id, timeline) values (1, '')`,
    // A user who may not read the timeline can still install.
    `do $$ begin update ${t.ids} set timeline = coalesce(${TIMELINE}, '');
     exception when insufficient_privilege then null; end $$`,
  ],
};
