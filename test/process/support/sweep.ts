import type { Entry } from "../../support/journal.ts";

/** One attempt, from the start of its handler until it returned or its process was gone. */
export interface Try {
  run: number;
  job: string;
  key: string | null;
  crashes: number;
  pid: number;
  from: number;
  to: number;
}

export function tries(entries: readonly Entry[]): Try[] {
  const open = new Map<string, Try>();
  const all: Try[] = [];
  for (const { what, at, run, job, key, crashes, pid } of entries) {
    const name = `${pid} ${run}`;
    if (what === "start") {
      const one = {
        run: run!,
        job: job!,
        key: key ?? null,
        crashes: crashes ?? 0,
        pid,
        from: at,
        to: Infinity,
      };
      open.set(name, one);
      all.push(one);
    } else if (what === "end") {
      const one = open.get(name);
      if (one) one.to = at;
      open.delete(name);
    } else if (what === "gone") {
      for (const [other, one] of open) {
        if (one.pid !== pid) continue;
        one.to = at;
        open.delete(other);
      }
    }
  }
  return all;
}

/** The maximum of overlapping attempts, for each gate. */
export function mostAtOnce(all: readonly Try[], gateOf: (one: Try) => string): Map<string, number> {
  const most = new Map<string, number>();
  const now = new Map<string, number>();
  const moments = all.flatMap((one) => [
    { at: one.from, step: 1, gate: gateOf(one) },
    { at: one.to, step: -1, gate: gateOf(one) },
  ]);
  // An attempt that ends at the moment another starts does not overlap it.
  moments.sort((a, b) => a.at - b.at || a.step - b.step);
  for (const { gate, step } of moments) {
    const count = (now.get(gate) ?? 0) + step;
    now.set(gate, count);
    most.set(gate, Math.max(most.get(gate) ?? 0, count));
  }
  return most;
}

/** The attempts that overlapped this one in the same process. */
export function neighbours(all: readonly Try[], one: Try): Try[] {
  return all.filter(
    (other) => other !== one && other.pid === one.pid && other.from < one.to && one.from < other.to,
  );
}
