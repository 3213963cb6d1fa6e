/** One statement of the store, and the parts of its plan that grow with the backlog. */
export interface Plan {
  statement: string;
  steps: string[];
  faults: string[];
  /** Number of rows that the statement returned, over all its executions. */
  rows: number;
}

/** A statement that looks at more rows than these grows with the backlog. Servers tell how many it really were. */
export const MANY = 1000;
