import { plain } from "../output/output.ts";
import type { Problem } from "./diagnose.ts";
import { nameOfFile } from "./find-files.ts";

/** `jobs/a.ts:3  The package "x" is not installed. Run: npm install x  (CODE)` */
export function describe(file: string, problem: Problem): string {
  const elsewhere = problem.file !== null && nameOfFile(problem.file) !== nameOfFile(file);
  const place = nameOfFile(problem.file ?? file);
  const at = problem.line === null ? place : `${place}:${problem.line}`;
  const by = elsewhere ? `  (loaded by ${nameOfFile(file)})` : "";
  const code = problem.code === null ? "" : `  (${problem.code})`;
  return plain(`${at}  ${problem.message}${code}${by}`);
}
