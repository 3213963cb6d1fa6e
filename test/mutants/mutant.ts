/** A subtle fault, planted on purpose: the tests it names must fail with it. */
export interface Mutant {
  /** The rule that this mutant breaks, as one sentence. */
  rule: string;
  /** The source file, from the root of the project. */
  file: string;
  /** Text that occurs exactly once in the file. */
  find: string;
  replace: string;
  /** Test files that run against the mutant. */
  tests: string[];
  /** Runs only tests whose full name matches this pattern. */
  only?: string;
  /** Databases of the conformance suite, as in `STORES`; all when absent. */
  stores?: ("sqlite" | "postgres" | "mysql" | "mariadb")[];
}
