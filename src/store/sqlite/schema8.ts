import type { Migration } from "../sql/migrate.ts";

/** Schema 8: changes the gates of servers, which SQLite does not have (note 53). */
export const schema8: Migration = { number: 8, compatibleFrom: 3, statements: () => [] };
