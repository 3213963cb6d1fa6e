import { shellQuote } from "../../../status/hints.ts";
import { type StatusReport, waitingIn } from "../../../status/report.ts";
import { pauseNote } from "../../../status/why.ts";
import { isPaused } from "../../../store/worker-records.ts";
import { plain } from "../../output/output.ts";
import { grouped } from "../../render/formats.ts";
import { type Finding, warning } from "../../views/finding.ts";

/**
 * Warns about paused queues and workers, and about paused jobs that have runs waiting: a forgotten pause looks like a
 * fault.
 */
export function checkPauses({ queues, jobs, workers, capped }: StatusReport): Finding[] {
  return [
    ...queues
      .filter(({ paused }) => paused)
      .map((queue) => {
        const { name, pausedUntil, pause } = queue;
        const until = pausedUntil ? ` until ${pausedUntil.toISOString()}` : "";
        return warning(
          `queue "${name}" is paused${until}${pauseNote(pause)}${waitingNote(waitingIn(queue), queue.capped)}`,
          plain(`punctual resume queue ${shellQuote(name)}`),
        );
      }),
    ...jobs
      .filter(({ paused, waiting }) => paused && waiting > 0)
      .map(({ name, pause, waiting }) =>
        warning(
          `job "${name}" is paused${pauseNote(pause)}${waitingNote(waiting, capped)}`,
          plain(`punctual resume job ${shellQuote(name)}`),
        ),
      ),
    ...workers
      .filter(isPaused)
      .map(({ id, host, pid, request }) =>
        warning(
          `worker ${host}:${pid} is paused${pauseNote(request)}`,
          plain(`punctual resume worker ${shellQuote(id)}`),
        ),
      ),
  ];
}

function waitingNote(runs: number, capped: boolean): string {
  if (runs === 0) return "";
  return `, with ${grouped(runs)}${capped ? " or more" : ""} ${runs === 1 ? "run" : "runs"} waiting`;
}
