/** One statement that the store ran, and what its plan does that grows with the backlog. */
export interface Plan {
  statement: string;
  steps: string[];
  faults: string[];
  /** How many rows the statement gave, over all the times it was run. */
  rows: number;
}

/** A statement that looks at more rows than these grows with the backlog. Servers tell how many it really were. */
export const MANY = 1000;
