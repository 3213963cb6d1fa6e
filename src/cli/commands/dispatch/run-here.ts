import { allowWork } from "../../../job-file-loader.ts";
import type { Punctual } from "../../../punctual.ts";
import { randomText } from "../../../random.ts";
import type { Cli } from "../../cli.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { duration } from "../../render/times.ts";

/** Runs a job in this process. The run has a queue of its own, so that no other run is claimed. */
export async function runHere(cli: Cli, jobs: Punctual, job: string, args: unknown): Promise<void> {
  const { output } = cli;
  const queue = `here-${randomText().slice(0, 8)}`;
  let took = 0;
  for (const end of ["run.completed", "run.failed", "run.skipped", "run.cancelled"] as const) {
    jobs.on(end, (event) => {
      took = event.duration;
    });
  }
  const run = await jobs.dispatchHere(job, args).queue(queue);
  await allowWork(() => jobs.forever({ queues: [queue], schedules: false, limit: 1, untilEmpty: true }));
  const ended = await jobs.find(run.id);
  const { state = "completed", result = null, error = null } = ended ?? {};
  if (output.isJson) output.json({ id: run.id, job, inserted: true, state, result: result ?? null, error });
  else {
    output.print(String(run.id));
    const why = error ? `: ${plain(error.message.split("\n")[0] ?? "")}` : "";
    output.note(`run ${run.id} of ${plain(job)} ${state} in ${duration(took)}${why}`);
  }
  if (state !== "completed") throw new Exit(exitCodes.failed);
}
