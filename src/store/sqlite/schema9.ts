import type { Migration } from "../sql/migrate.ts";

/** Schema 9: PostgreSQL alone needs a table (note 54). The number keeps the schemas of all databases alike. */
export const schema9: Migration = { number: 9, compatibleFrom: 3, statements: () => [] };
