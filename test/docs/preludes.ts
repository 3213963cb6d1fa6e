/** What a block preceded by `<!-- prelude: name -->` may take for granted. */
export const preludes: Record<string, string> = {
  jobs: `
import type { DatabaseSync } from "node:sqlite";
import { PermanentError, Punctual, PunctualError } from "punctual";

const jobs: Punctual = new Punctual("sqlite::memory:");
const email = jobs.schedule("email", async (args: { to: string }) => {});
class SendReport {
  static async handle(args: { day: number }): Promise<void> {}
}
class Reports {
  async daily(args: { day: number }): Promise<void> {}
}
declare const db: DatabaseSync;
declare function resize(id: number): Promise<void>;
declare function load(file: string, signal: AbortSignal): Promise<void>;
`,
};
