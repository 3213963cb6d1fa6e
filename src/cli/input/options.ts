import { type Command, InvalidArgumentError, Option } from "commander";

/** Options of every command. */
export interface Globals {
  /** The config file; default: `punctual.config.{ts,mts,js,mjs}` in the current folder. */
  config?: string;
  /** The database; overrides `PUNCTUAL_DATABASE_URL` and the config. */
  db?: string;
  /** Job files, by name or glob; override those of the config. */
  jobs?: string[];
  envFile?: string;
  cwd?: string;
  json?: boolean;
  quiet?: boolean;
  verbose?: number;
  color?: string | boolean;
  /** False: the command asks no questions. */
  input?: boolean;
  yes?: boolean;
  timezone?: string;
  utc?: boolean;
}

export const repeated = (value: string, before: string[] = []): string[] => [...before, value];
/** Returns a parser that rejects an empty value, which usually comes from an unset variable of a script. */
const filled = (what: string) => (text: string) => {
  if (text !== "") return text;
  throw new InvalidArgumentError(`Expected ${what}.`);
};
const count = (_: string, before: number | undefined) => (before ?? 0) + 1;

/** Options that locate the jobs and the database; mounted commands do not have them. */
export function addSourceOptions(command: Command): Command {
  return command
    .option("-c, --config <file>", "config file (default: punctual.config.ts)", filled("a file"))
    .option("--db <url>", "database, such as sqlite:./jobs.db or postgres://…")
    .option(
      "--jobs <glob>",
      "job files, in place of the config's; may be repeated",
      (text, before: string[] = []) => [...before, filled("a file, a folder or a glob")(text)],
    )
    .option("--env-file <file>", "read environment variables from this file first", filled("a file"))
    .option("--cwd <dir>", "change to this folder first", filled("a folder"));
}

/** Options for output, questions and time zones. */
export function addCommonOptions(command: Command): Command {
  return command
    .option("--json", "print one JSON document")
    .option("-q, --quiet", "print only data and errors, no notes")
    .option("-v, --verbose", "print more, and the stack of errors", count)
    .addOption(new Option("--color <when>", "colours").choices(["always", "never", "auto"]))
    .option("--no-color", "no colours")
    .option("--no-input", "ask no questions: decline")
    .option("-y, --yes", "answer yes to every question")
    .option("--timezone <zone>", "show times in this zone (default: the machine's)")
    .option("--utc", "show times in UTC");
}

/** Rejects an unknown time zone, also for commands that print no times. */
export async function checkGlobals({ timezone }: Globals): Promise<void> {
  if (timezone === undefined) return;
  const { zoneOf } = await import("../../schedule/zones.ts");
  zoneOf(timezone);
}
