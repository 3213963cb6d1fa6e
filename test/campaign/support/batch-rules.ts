import { CANCELLED, COMPLETED, type Evidence, FAILED, type StoredBatch, type StoredRun } from "./checker.ts";
import type { Execution } from "./executions.ts";

/** Each batch counts each member once, and dispatches each callback once, after the last member's end. */
export function batchesCounted(evidence: Evidence, executions: Execution[]): string[] {
  const runs = Map.groupBy([...evidence.finished, ...evidence.unfinished], ({ batch_id }) => batch_id);
  const of = Map.groupBy(executions, ({ run }) => run);
  const inBatch = (id: number) => runs.get(String(id)) ?? [];
  const asked = new Set(evidence.entries.flatMap(({ what, ids }) => (what === "cancel batch" ? ids! : [])));
  return [
    ...nothingLeftOut(evidence, inBatch),
    ...evidence.batches.flatMap((batch) => {
      // The producer of an open batch died, or was refused.
      if (batch.sealed_at === null) return [];
      if (batch.finished_at === null) return [`batch ${batch.id} has not finished`];
      const members = inBatch(batch.id);
      const callbacks = {
        success: runs.get(`${batch.id}/success`) ?? [],
        failure: runs.get(`${batch.id}/failure`) ?? [],
        finish: runs.get(`${batch.id}/finish`) ?? [],
      };
      const { id, cancels, failed, cancelled_at } = batch;
      const hasCause = asked.has(id) || (cancels === 1 && failed > 0);
      return [
        ...(cancelled_at !== null && !hasCause ? [`batch ${id} was cancelled by nobody`] : []),
        ...countedOnce(batch, members),
        ...calledOnce(batch, callbacks),
        ...calledLast(batch, members, [...callbacks.success, ...callbacks.finish], of),
      ];
    }),
  ];
}

/** A batch that was accepted has every member. */
function nothingLeftOut({ entries, batches }: Evidence, inBatch: (id: number) => StoredRun[]): string[] {
  const known = new Set(batches.map(({ id }) => id));
  return entries.flatMap(({ what, ids, text }) => {
    if (what !== "batched") return [];
    const [id] = ids as [number];
    if (!known.has(id)) return [`batch ${id} was accepted and does not exist`];
    const members = new Set(inBatch(id).map(({ args }) => JSON.parse(args!).n as number));
    return (JSON.parse(text!) as number[])
      .filter((n) => !members.has(n))
      .map((n) => `request ${n} was accepted in batch ${id} and is no member of it`);
  });
}

function countedOnce(batch: StoredBatch, members: StoredRun[]): string[] {
  const inState = (state: number) => members.filter((run) => run.state === state).length;
  const counts = [
    ["added", batch.added, members.length],
    ["completed", batch.completed, inState(COMPLETED)],
    ["failed", batch.failed, inState(FAILED)],
    ["cancelled", batch.cancelled, inState(CANCELLED)],
    ["skipped", batch.skipped, 0],
  ] as const;
  return counts.flatMap(([name, counted, found]) =>
    counted === found ? [] : [`batch ${batch.id} counts ${counted} ${name} members, and ${found} are`],
  );
}

function calledOnce(
  { id, failed, cancelled, cancelled_at }: StoredBatch,
  callbacks: Record<"success" | "failure" | "finish", StoredRun[]>,
): string[] {
  const isSuccess = failed === 0 && cancelled === 0 && cancelled_at === null;
  const wanted = { success: isSuccess ? 1 : 0, failure: failed > 0 ? 1 : 0, finish: 1 };
  return Object.entries(callbacks).flatMap(([on, { length }]) => {
    const most = wanted[on as keyof typeof wanted];
    return length === most
      ? []
      : [`batch ${id} dispatched ${length} callbacks of ${on}, where ${most} must be`];
  });
}

/** The attempt that decided about a member ended before a callback started. */
function calledLast(
  { id }: StoredBatch,
  members: StoredRun[],
  callbacks: StoredRun[],
  executions: Map<number, Execution[]>,
): string[] {
  const starts = callbacks.flatMap((run) => (executions.get(run.id) ?? []).map(({ from }) => from));
  const first = Math.min(...starts);
  return members.flatMap((member) => {
    const last = executions.get(member.id)?.find(({ attempt }) => attempt === member.attempts);
    return last && last.to !== Infinity && last.to > first
      ? [`run ${member.id} ended after a callback of its batch ${id} had started`]
      : [];
  });
}
