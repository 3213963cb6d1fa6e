import type { Try } from "../../process/support/sweep.ts";
import type { Entry } from "../../support/journal.ts";

/**
 * A process that did not run for this long may have lost a lease without noticing it: a lease of five seconds is
 * trusted for 3.75 s, and the database keeps it for 1.25 s more. Two such pauses may follow one another.
 */
export const LONG_PAUSE = 600;

/** An attempt, for as long as its worker could trust its lease. */
export interface Execution extends Try {
  attempt: number;
  by: string;
  /** Whether the handler returned without an error. */
  succeeded: boolean;
  failed: boolean;
}

/** A time in which the executions of a process, or of a supervisor's children, cannot be trusted. */
interface Pause {
  from: number;
  to: number;
  isOf(one: Execution): boolean;
}

/** The processes of a member: itself, and the children of a supervisor. */
const isOf = (by: string, member: string) => by === member || by.startsWith(`${member},`);

/** Returns every attempt that the journal has, for as long as it could be trusted. */
export function executionsIn(entries: readonly Entry[]): Execution[] {
  const all = new Map<string, Execution>();
  const nameOf = ({ pid, run, attempt }: Pick<Entry, "pid" | "run" | "attempt">) =>
    `${pid} ${run} ${attempt}`;
  const list: Execution[] = [];
  for (const entry of entries) {
    const { what, at, by, pid, run, attempt, job, key, crashes, code } = entry;
    if (what === "start") {
      const of = { run: run!, attempt: attempt!, job: job!, key: key ?? null, crashes: crashes ?? 0 };
      const one = { ...of, pid, by, from: at, to: Infinity, succeeded: false, failed: false };
      all.set(nameOf(entry), one);
      list.push(one);
    } else if (what === "end" || what === "abort") {
      const one = all.get(nameOf(entry));
      if (!one) continue;
      one.to = Math.min(one.to, at);
      if (what === "abort") continue;
      one.succeeded = code === undefined;
      one.failed = code !== undefined;
    }
  }
  const pauses = pausesIn(entries).sort((a, b) => a.from - b.from);
  for (const one of list) cutShort(one, pauses);
  return list;
}

/** Ends the trust in an execution at the first pause that meets it. */
function cutShort(one: Execution, pauses: Pause[]): void {
  for (const pause of pauses) {
    if (pause.from >= one.to) return;
    if (pause.to <= one.from || !pause.isOf(one)) continue;
    one.to = Math.max(one.from, pause.from);
    return;
  }
}

/** Kills, deaths, and everything else that stopped a process for long. */
function pausesIn(entries: readonly Entry[]): Pause[] {
  return entries.flatMap(({ what, at, by, pid, text, ids }, index): Pause[] => {
    const ofMember = (member: string) => (one: Execution) => isOf(one.by, member);
    if (what === "dies") return [{ from: at, to: Infinity, isOf: (one) => one.pid === pid }];
    if (what === "kill" || what === "killed") return [{ from: at, to: Infinity, isOf: ofMember(text!) }];
    if (what === "lapse") {
      // A supervisor renews the leases of its children's runs.
      const of = by.includes(",") ? (one: Execution) => one.pid === pid : ofMember(by);
      return [{ from: at - ids![0]!, to: at, isOf: of }];
    }
    if (what !== "freeze") return [];
    const thaw = entries.slice(index).find((entry) => entry.what === "thaw" && entry.text === text);
    const to = thaw?.at ?? Infinity;
    return to - at > LONG_PAUSE ? [{ from: at, to, isOf: ofMember(text!) }] : [];
  });
}

/** Without executions that began after their process had lost the right to them. */
export function trusted(executions: readonly Execution[]): Execution[] {
  return executions.filter(({ from, to }) => to > from);
}
