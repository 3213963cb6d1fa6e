import type { Command } from "commander";
import type { WorkerInfo } from "../../../status/workers.ts";
import type { Cli } from "../../cli.ts";
import { openExisting } from "../../load/database.ts";
import { plain } from "../../output/output.ts";
import { operatorName, recordAction } from "../../record-action.ts";
import { findWorkers, hostAndPid, OBEYED_SOON } from "./find-workers.ts";

function fullLabel(worker: WorkerInfo): string {
  return `${worker.id} of ${hostAndPid(worker)}`;
}

/** `punctual stop` */
export default function stop(command: Command, cli: Cli): void {
  command
    .description(
      "Ask workers to stop, as SIGTERM does: they claim nothing more, finish their runs, and their processes end.",
    )
    .argument("<worker...>", "its id or host:pid; punctual list workers prints them")
    .option("--reason <text>", "the reason, shown with the request")
    .action(async (names: string[], { reason }: { reason?: string }) => {
      const jobs = await openExisting(cli);
      const workers = await findWorkers(jobs, names);
      const details = reason === undefined ? {} : { reason };
      for (const worker of workers) {
        await jobs.stopWorker(worker.id, { by: operatorName(), ...details });
        await recordAction(cli, jobs, { action: "worker.stop", target: fullLabel(worker), details });
      }
      const { output } = cli;
      if (output.isJson) {
        output.json({ stopping: workers.map((worker) => ({ name: hostAndPid(worker), id: worker.id })) });
        return;
      }
      for (const worker of workers) {
        output.print(`worker ${plain(fullLabel(worker))} is asked to stop, with ${worker.used} running`);
      }
      output.note(OBEYED_SOON);
    });
}
