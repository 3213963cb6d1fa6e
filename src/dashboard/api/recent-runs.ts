import { finishedStates } from "../../run/states.ts";
import type { RunLink } from "./contract.ts";
import type { Services } from "./services.ts";
import { toLink } from "./views/run-summary.ts";

const MOST = 30;

/** Returns the last finished runs of a job, the newest first. Runs that wait would fill the list of a long queue. */
export async function recentRuns({ reports }: Services, job: string, now: number): Promise<RunLink[]> {
  const { runs } = await reports.storedRuns({ job, state: finishedStates, limit: MOST });
  return runs.map((run) => toLink(run, now));
}
