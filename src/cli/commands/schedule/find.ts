import type { Punctual } from "../../../punctual.ts";
import { shellQuote } from "../../../status/hints.ts";
import type { ScheduleInfo } from "../../../status/report.ts";
import { wholeNumber } from "../../input/arguments.ts";
import { didYouMean } from "../../input/names.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";

/** Returns the schedules of a job, or the schedule with this id. Throws if there is none. */
export async function findSchedules(jobs: Punctual, what: string): Promise<ScheduleInfo[]> {
  const all = await jobs.schedules();
  const found = all.filter(({ job }) => job === what);
  if (found.length > 0) return found;
  const number = wholeNumber(what);
  const byId = all.filter(({ id }) => id === number);
  if (byId.length > 0) return byId;
  const { jobs: known } = await jobs.status();
  if (known.some(({ name }) => name === what)) {
    throw new Exit(
      exitCodes.notFound,
      `Job "${what}" has no schedule. To run it now: punctual dispatch ${shellQuote(plain(what))}`,
    );
  }
  throw new Exit(
    exitCodes.notFound,
    /^\d+$/.test(what)
      ? `There is no schedule ${what}, and no job of this name. To list all: punctual schedule list`
      : `There is no schedule of a job "${what}".${didYouMean(what, new Set(all.map(({ job }) => job)))} To list all: punctual schedule list`,
  );
}
