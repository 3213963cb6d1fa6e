import type { Punctual } from "../../../punctual.ts";
import type { WorkerInfo } from "../../../status/workers.ts";
import { didYouMean } from "../../input/names.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";

/** Said after each request to a worker. */
export const OBEYED_SOON =
  "A worker obeys at its next heartbeat, within about 6 seconds: punctual list workers shows its state.";

export function hostAndPid({ host, pid }: Pick<WorkerInfo, "host" | "pid">): string {
  return `${host}:${pid}`;
}

/** Finds live workers by their ids or by `host:pid`. Throws if one is unknown or ambiguous. */
export async function findWorkers(jobs: Punctual, names: readonly string[]): Promise<WorkerInfo[]> {
  const live = (await jobs.workers()).filter(({ parallel }) => parallel > 0);
  return names.map((name) => {
    const found = live.filter((worker) => worker.id === name || hostAndPid(worker) === name);
    if (found.length === 1) return found[0]!;
    if (found.length === 0) {
      const known = live.flatMap((worker) => [worker.id, hostAndPid(worker)]);
      throw new Exit(
        exitCodes.notFound,
        `There is no live worker "${name}".${didYouMean(name, known)} All of them: punctual list workers`,
      );
    }
    const ids = found.map(({ id }) => id).join(", ");
    throw new Exit(exitCodes.usage, `"${name}" matches ${found.length} workers. Pass one id: ${ids}`);
  });
}
