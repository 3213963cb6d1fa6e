import { type BatchStatus, batchRefused, toBatchLink } from "../../run/batch.ts";
import type { RunRecord } from "../../store/records.ts";
import type { User } from "../server/route.ts";
import type { BatchAction, BatchDetail, BatchLink, CallbackView, RunLink } from "./contract.ts";
import { hasRole } from "./define-route.ts";
import type { Services } from "./services.ts";
import { toBatchView } from "./views/batch.ts";
import { toLink, toSummary } from "./views/run-summary.ts";

const FAILED_MEMBERS = 5;

/** Runs of one callback that the page shows; a batch that was retried has several. */
const RUNS_OF_CALLBACK = 5;

/** Callbacks of a batch that the page shows. */
const MOST_CALLBACKS = 20;

/** Returns a batch. Throws BATCH_NOT_FOUND. */
export async function findBatch({ reports }: Services, id: number): Promise<BatchStatus> {
  const batch = await reports.findBatch(id);
  if (!batch) throw batchRefused("show", id, null);
  return batch;
}

/** Reads everything that the page of a batch shows. */
export async function readBatch(services: Services, id: number, user: User): Promise<BatchDetail> {
  const batch = await findBatch(services, id);
  const { waiting, running, failures } = batch;
  const context = await services.summaryContext();
  const [callbacks, failed] = await Promise.all([
    readCallbacks(services, batch, context.now),
    batch.failed === 0
      ? { runs: [] }
      : services.reports.storedRuns({ batch: String(id), state: "failed", limit: FAILED_MEMBERS }),
  ]);
  const actions = hasRole(user, "operator") ? actionsOn(batch) : [];
  return {
    ...toBatchView(batch),
    waiting,
    running,
    failures,
    callbacks,
    failedMembers: failed.runs.map((run) => toSummary(run, context)),
    actions,
    effects: Object.fromEntries(actions.map((action) => [action, effectOf(action, batch)])),
    commands: Object.fromEntries(actions.map((action) => [action, `punctual batch ${action} ${id}`])),
  };
}

async function readCallbacks(services: Services, batch: BatchStatus, now: number): Promise<CallbackView[]> {
  const shown = batch.callbacks.slice(0, MOST_CALLBACKS).map(({ runs, ...callback }) => ({
    ...callback,
    ids: runs.slice(-RUNS_OF_CALLBACK).reverse(),
  }));
  const ids = shown.flatMap((callback) => callback.ids);
  const found = new Map<number, RunLink>();
  if (ids.length > 0) {
    const { runs } = await services.reports.storedRuns({ where: `id:${ids.join(",")}`, limit: ids.length });
    for (const run of runs) found.set(run.id, toLink(run, now));
  }
  return shown.map(({ on, job, ids: own }) => {
    const runs = own.flatMap((id) => found.get(id) ?? []);
    const note = own.length > 0 ? "dispatched; the run is not kept" : whyNot(on, batch);
    return { on, job, runs, note: runs.length > 0 ? null : note };
  });
}

/** Returns why a callback has not been dispatched. */
function whyNot(on: CallbackView["on"], { state, failed }: BatchStatus): string {
  const isFinished = state === "finished";
  if (on === "failure") return isFinished ? "not dispatched: none failed" : "no member has failed yet";
  if (!isFinished) return "waits for the end of the batch";
  return `not dispatched: members ${failed > 0 ? "failed" : "were cancelled"}`;
}

/** Returns the actions that the state of the batch allows. */
function actionsOn({ state, failed, cancelled, cancelledAt }: BatchStatus): BatchAction[] {
  const isEnding = cancelledAt !== null && state !== "finished";
  const actions: BatchAction[] = [];
  if (failed + cancelled > 0 && !isEnding) actions.push("retry");
  if (state === "open") actions.push("seal");
  if (state !== "finished" && !isEnding) actions.push("cancel");
  return actions;
}

function effectOf(action: BatchAction, { failed, cancelled, waiting, running }: BatchStatus): string {
  switch (action) {
    case "retry":
      return `Members that failed (${failed}) or were cancelled (${cancelled}) run again, as far as they are kept. When all have ended, the callbacks are dispatched again.`;
    case "seal":
      return "No more members can be added, except by its own members. The batch finishes when all of them have ended.";
    case "cancel":
      return `Waiting members (${waiting}) do not start, running ones (${running}) are asked to end, and none can be added. Then the batch finishes.`;
  }
}

/** Returns the batch of a run; null: the run has none. */
export async function batchLinkOf({ reports }: Services, run: RunRecord): Promise<BatchLink | null> {
  const link = toBatchLink(run.batchId);
  if (!link) return null;
  const { batches } = await reports.batches({ ids: [link.batch] });
  return { id: link.batch, name: batches[0]?.name ?? null, callback: link.on };
}
