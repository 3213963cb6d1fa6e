import type { JsonText, Meta, RunDetail, VersionsView } from "../../../src/dashboard/api/contract.ts";
import { visibleText } from "../text/visible.ts";
import { failureText } from "./frames.ts";

/** Versions of the programs that took part; null: not known yet. */
export interface IssueContext {
  meta: Pick<Meta, "version" | "database" | "settings"> | null;
  versions: VersionsView | null;
}

/**
 * Returns a failed run as Markdown for an issue tracker: the error with its stack, the versions, and the payload as the
 * page shows it, without the values that the server hides. Host names are left out.
 */
export function issueText(run: RunDetail, context: IssueContext): string {
  const { failure } = run;
  if (failure === null) return "";
  const head = `${failure.name}: ${failure.message}`.split("\n")[0]!;
  return [
    `## ${code(run.job)} failed: ${code(head)}`,
    [
      `- Run: ${run.id}, attempt ${run.attempt}${run.maxAttempts === null ? "" : ` of ${run.maxAttempts}`}`,
      `- Queue: ${code(run.queue)}`,
      run.finishedAt === null ? null : `- Finished: ${run.finishedAt}`,
      alikeOf(run),
      ...versionsOf(context),
    ]
      .filter((line) => line !== null)
      .join("\n"),
    `### Error\n\n${fenced(failureText(failure))}`,
    `### Payload\n\n${payloadOf(run.args)}`,
  ].join("\n\n");
}

function alikeOf({ alike, fingerprint }: RunDetail): string | null {
  if (alike === null || fingerprint === null) return null;
  return `- Same error in other runs: ${alike.value}${alike.capped ? " or more" : ""} (${code(`fingerprint:${fingerprint}`)})`;
}

function versionsOf({ meta, versions }: IssueContext): string[] {
  const workers = versions?.workers.map(({ version, count }) => `${version ?? "older"} (${count})`) ?? [];
  const { kind, version, schema } = meta?.database ?? {};
  return [
    ...(meta ? [`- Punctual: ${meta.version || "unknown"}`] : []),
    ...(workers.length > 0 ? [`- Workers: ${workers.join(", ")}`] : []),
    ...(meta?.settings.Node ? [`- Node: ${meta.settings.Node}`] : []),
    ...(kind ? [`- Database: ${kind} ${version ?? ""}, schema ${schema ?? "unknown"}`] : []),
  ];
}

function payloadOf({ json, truncated, size }: JsonText): string {
  if (json === null) return "None.";
  // The beginning of a text that was cut is not JSON.
  if (truncated) return `${fenced(json)}\n\nCut: the whole payload has ${size} bytes.`;
  return fenced(json, "json");
}

/** Returns a text between fences that are longer than any row of backticks in it, so that nothing in it is Markdown. */
function fenced(text: string, language = ""): string {
  const shown = visibleText(text);
  const fence = "`".repeat(Math.max(3, longestRow(shown) + 1));
  return `${fence}${language}\n${shown}\n${fence}`;
}

/** Returns a text of one line as code: trackers take @names and #numbers in prose for references. */
function code(text: string): string {
  const shown = visibleText(text).replace(/\s+/g, " ").trim();
  const fence = "`".repeat(longestRow(shown) + 1);
  const space = shown.startsWith("`") || shown.endsWith("`") ? " " : "";
  return `${fence}${space}${shown}${space}${fence}`;
}

function longestRow(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}
