import { readFileSync, readlinkSync } from "node:fs";

/** The place of the start time among the fields of `/proc/<pid>/stat` behind the name of the program. */
const START_TIME = 19;

/**
 * Returns a text that identifies this process among all processes of all hosts: the boot of the kernel, the namespace
 * of process ids, and the start time of the process. Null: not known, as on every system but Linux.
 */
export function processMark(): string | null {
  const space = pidSpace();
  const start = startTime(process.pid);
  return space === null || start === null ? null : `${space} ${start}`;
}

/**
 * Whether a process has ended, by its id and its mark. False if this process cannot know: the other one runs, or ran,
 * under another kernel or in another container.
 */
export function isGone(pid: number, mark: string): boolean {
  const end = mark.lastIndexOf(" ");
  if (pidSpace() !== mark.slice(0, end)) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  const start = startTime(pid);
  // Another process has its id by now.
  return start !== null && start !== mark.slice(end + 1);
}

/** Returns what two processes share if each finds the other by its process id. */
function pidSpace(): string | null {
  try {
    // A container may see the /proc of its host, whose ids are not those that it signals.
    if (readlinkSync("/proc/self") !== String(process.pid)) return null;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}

/** Returns when a process began, in ticks since the boot. */
function startTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program is in parentheses and may contain anything.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_TIME] ?? null;
  } catch {
    return null;
  }
}
