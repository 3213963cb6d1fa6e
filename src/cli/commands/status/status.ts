import { type Command, InvalidArgumentError } from "commander";
import { formatValue } from "../../../errors.ts";
import type { Punctual } from "../../../punctual.ts";
import type { Cli } from "../../cli.ts";
import { didYouMean, selectByName } from "../../input/names.ts";
import { openExisting } from "../../load/database.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { iconsFor } from "../../render/icons.ts";
import { type Page, pageOf } from "../../render/page.ts";
import { leasesOf, viewsOf } from "../../views/job-state.ts";
import {
  healthIn,
  type Order,
  orderNames,
  problemLines,
  type Snapshot,
  statusDocument,
  statusPicture,
} from "./status-page.ts";

interface Options {
  watch?: string | true;
  check?: string | true;
  sort: Order;
  failing?: boolean;
  queues?: boolean;
  workers?: boolean;
}

/** `punctual status` */
export function status(command: Command, cli: Cli): void {
  command
    .argument("[job...]", "only these jobs; * matches any text")
    .option("-w, --watch [interval]", "refresh every 2s, or at this interval")
    .option("--check [level]", `for monitors: exit ${exitCodes.unhealthy} if degraded, or only if stalled`)
    .option("--sort <column>", `sort by ${orderNames.join(", ")}`, toOrder, "name" as Order)
    .option("--failing", "only jobs whose last run failed")
    .option("--queues", "show the queues instead of the jobs")
    .option("--workers", "show the workers instead of the jobs")
    .action(async (names: string[], options: Options, self: Command) => {
      const patterns = [...names, ...(await misreadJobs(options, self))];
      const { output } = cli;
      const jobs = await openExisting(cli);
      const database = await cli.database();
      const look = () => takeSnapshot(jobs, patterns, options);
      const picture = (snapshot: Snapshot, page: Page) => statusPicture(snapshot, options, database, page);
      if (options.check !== undefined) return check(await look(), options.check, cli);
      if (options.watch !== undefined) {
        const { watch, watchEvery } = await import("../../views/live-view.ts");
        const { detailsOf } = await import("../../views/details.ts");
        return watch(cli, {
          every: watchEvery(options.watch),
          take: look,
          json: statusDocument,
          picture,
          details: (subject, page) => detailsOf(jobs, subject, page),
          help: () => `s sort: ${options.sort}`,
          onKey: (key) => {
            if (key === "s")
              options.sort = orderNames[(orderNames.indexOf(options.sort) + 1) % orderNames.length]!;
          },
        });
      }
      const snapshot = await look();
      if (output.isJson) return output.json(statusDocument(snapshot));
      const { head, body, foot } = picture(snapshot, pageOf(cli));
      for (const line of [...head, ...body]) output.print(line);
      for (const line of foot) output.note(line);
    });
}

function toOrder(text: string): Order {
  const order = orderNames.find((name) => name === text);
  if (order) return order;
  throw new InvalidArgumentError(`Sort by one of ${orderNames.join(", ")}.`);
}

async function takeSnapshot(jobs: Punctual, patterns: string[], { failing }: Options): Promise<Snapshot> {
  const report = await jobs.status();
  const named = selectByName(viewsOf(report), patterns, ({ job }) => job.name);
  const views = failing ? named.filter(({ isFailing }) => isFailing) : named;
  const isRunning = views.some(({ job }) => job.running > 0);
  const { runs } = isRunning ? await jobs.runs({ state: "running", limit: 1000 }) : { runs: [] };
  return { report, views, leases: leasesOf(runs, report) };
}

const LEVELS = ["degraded", "stalled"];

/**
 * Returns values of `--watch` and `--check` that are names of jobs: in "-w emails", "emails" is a job, because an
 * interval begins with a digit. Throws for "--watch=emails", which is certainly a value.
 */
async function misreadJobs(options: Options, command: Command): Promise<string[]> {
  const names: string[] = [];
  const { watch: every, check: level } = options;
  if (typeof every === "string" && !/^\d/.test(every)) {
    // Throws.
    if (isAttached(command, ["--watch", "-w"], every))
      (await import("../../views/live-view.ts")).watchEvery(every);
    names.push(every);
    options.watch = true;
  }
  if (typeof level === "string" && !LEVELS.includes(level)) {
    if (isAttached(command, ["--check"], level)) {
      throw new Exit(
        exitCodes.usage,
        `Expected the level of --check as ${LEVELS.join(" or ")}, got ${formatValue(level)}.${didYouMean(level, LEVELS)}`,
      );
    }
    names.push(level);
    options.check = true;
  }
  return names;
}

/**
 * Whether the value of an option was written in one word with it, as in `--check=foo`. After a space, the value of an
 * option with an optional value may be meant as the next argument.
 */
function isAttached(command: Command, flags: string[], value: string): boolean {
  const root = rootOf(command) as Command & { rawArgs?: string[] };
  const words = flags.map((flag) => (flag.startsWith("--") ? `${flag}=${value}` : `${flag}${value}`));
  return (root.rawArgs ?? process.argv).some((argument) => words.includes(argument));
}

function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command;
}

function check(snapshot: Snapshot, worst: string | true, { output }: Cli): void {
  const { level, sentences, hints } = healthIn(snapshot);
  if (output.isJson) output.json(statusDocument(snapshot));
  else if (level === "healthy") for (const sentence of sentences) output.note(plain(sentence));
  else {
    for (const line of problemLines({ level, sentences }, output.errorProseWidth)) output.complain(line);
    for (const hint of hints) output.note(`  ${iconsFor().arrow} ${plain(hint)}`);
  }
  const isFine = level === "healthy" || (worst === "stalled" && level === "degraded");
  if (!isFine) throw new Exit(exitCodes.unhealthy);
}

/** `punctual top` */
export function top(command: Command, cli: Cli): void {
  status(command, cli);
  command.setOptionValueWithSource("watch", true, "default");
}
