/** One statement of the store, and the parts of its plan that grow with the backlog. */
export interface Plan {
  statement: string;
  steps: string[];
  faults: string[];
  /** Number of rows that the statement returned, over all its executions. */
  rows: number;
  /**
   * How much the database read for the statement, over all its executions, in a unit of its own: rows and blocks on
   * PostgreSQL, rows on MySQL and MariaDB, pages on SQLite.
   */
  read: number;
}

/** A statement that looks at more rows than these grows with the backlog. Servers tell how many it really were. */
export const MANY = 1000;
