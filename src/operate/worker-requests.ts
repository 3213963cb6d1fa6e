import { formatValue, PunctualError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import { checkKeys } from "../validate/options.ts";
import { type PauseOptions, toPauseNote } from "./pause.ts";

interface WorkerCall {
  id: string;
  verb: "pause" | "resume" | "stop";
  options: PauseOptions;
}

/** Asks a worker to pause, resume or stop. Throws UNKNOWN_WORKER or WORKER_STOPPING if it cannot. */
export async function askWorker(
  openStore: () => Promise<Store>,
  { id, verb, options }: WorkerCall,
): Promise<void> {
  const method = `${verb}Worker`;
  checkKeys(options, { reason: true, by: true }, `${method}()`);
  const note = toPauseNote(options, method);
  if (typeof id !== "string" || id === "") {
    throw new PunctualError(
      "INVALID_OPTION",
      `${method}() expected the id of a worker, got ${formatValue(id)}. workers() lists them.`,
    );
  }
  const answer = await (await openStore()).askWorker(id, verb === "resume" ? null : verb, note);
  if (answer === null) {
    throw new PunctualError(
      "UNKNOWN_WORKER",
      `Cannot ${verb} worker "${id}": no worker has this id. It may have stopped; workers() lists those that are alive.`,
    );
  }
  if (answer === "stopping" && verb !== "stop") {
    throw new PunctualError(
      "WORKER_STOPPING",
      `Cannot ${verb} worker "${id}": it was asked to stop, which cannot be undone. Start another worker.`,
    );
  }
}
