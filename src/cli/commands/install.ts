import type { Command } from "commander";
import { DEFAULT_DATABASE } from "../../database-choice.ts";
import { Punctual } from "../../punctual.ts";
import { inSchema } from "../../store/open.ts";
import type { Cli } from "../cli.ts";
import { databaseLabel, missingFile } from "../load/database.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import { iconsFor } from "../render/icons.ts";

type Report = Awaited<ReturnType<Punctual["install"]>>;

interface Options {
  sql?: boolean;
  dryRun?: boolean;
  check?: boolean;
  schema?: string;
}

export default function install(command: Command, cli: Cli): void {
  command
    .option("--sql", "print a complete script for psql, mysql or sqlite3, and change nothing")
    .option("--dry-run", "the same as --sql")
    .option("--schema <name>", "PostgreSQL: put the tables into this schema; creates it if it is missing")
    .option("--check", `change nothing; exit ${exitCodes.database} if something is missing`)
    .action(async ({ sql, dryRun, check, schema }: Options) => {
      const { output } = cli;
      const isScript = sql === true || dryRun === true;
      const isTrial = isScript || check === true;
      const other = schema === undefined ? null : await openInSchema(cli, schema);
      const jobs = other ? other.jobs : await cli.open();
      let report: Report;
      try {
        report = isTrial ? await forecast(cli, jobs) : await jobs.install();
      } finally {
        await other?.jobs.stop();
      }
      const isCurrent = report.from === report.to;
      if (output.isJson) output.json({ ...report });
      else if (isScript) output.print(script(report));
      else if (isCurrent) output.note(`schema ${report.to}: nothing to do`);
      else if (!check)
        output.note(
          `schema ${report.from} ${iconsFor().arrow} ${report.to}: ${report.statements.length} statements`,
        );
      if (check && !isCurrent) {
        const where = schema === undefined ? "" : ` --schema ${schema}`;
        throw new Exit(
          exitCodes.database,
          `The database is at schema ${report.from}, ${report.to} is required. Run: punctual install${where}`,
        );
      }
      if (other?.note && !isTrial) output.note(other.note);
    });
}

/** Returns the script. Its transaction is atomic on SQLite and PostgreSQL; MySQL commits after each DDL statement. */
function script({ from, to, statements }: Report): string {
  if (statements.length === 0) return `-- Punctual: schema ${to}, nothing to do.`;
  return [
    `-- Punctual: schema ${from} to ${to}. Run it once, as a user who may create tables.`,
    "begin;",
    ...statements.map((statement) => `${statement};`),
    "commit;",
  ].join("\n");
}

/** Returns the statements of an install. Opening would create a missing SQLite file, so that case runs in memory. */
async function forecast(cli: Cli, jobs: Punctual): Promise<Report> {
  if (missingFile(await cli.database()) === null) return jobs.install({ dryRun: true });
  const { prefix } = await cli.config();
  const trial = new Punctual(":memory:", prefix === undefined ? {} : { prefix });
  return trial.install({ dryRun: true }).finally(() => trial.stop());
}

/** Opens the database with the tables in a schema. The note tells the user to add the schema to the URL. */
async function openInSchema(cli: Cli, schema: string): Promise<{ jobs: Punctual; note: string | null }> {
  if (!cli.sources) {
    throw new Exit(
      exitCodes.usage,
      `This program opens the database: --schema has no effect. Set schema=${schema} in its URL.`,
    );
  }
  const { source, by, prefix } = await findDatabase(cli.sources);
  const url = inSchema(source, schema);
  const others = url.replace(/[?&]schema=[^&]*$/, "").includes("?") ? "…&" : "";
  return {
    jobs: new Punctual(url, prefix === undefined ? {} : { prefix }),
    note:
      url === source
        ? null
        : `Add this schema to the URL in ${by}: ${databaseLabel(url)}?${others}schema=${schema}`,
  };
}

/** Returns the database that a command opens, and what names it. */
async function findDatabase(sources: NonNullable<Cli["sources"]>) {
  const { database, config } = await sources.setup();
  if (database) return { ...database, prefix: config.prefix };
  const { instances } = (await sources.loadJobFiles()).recorder;
  const opened = instances.find(({ source }) => source !== null);
  return { source: opened?.source ?? DEFAULT_DATABASE, by: opened?.file ?? "", prefix: opened?.prefix };
}
