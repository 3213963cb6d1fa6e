import { readdirSync, readFileSync } from "node:fs";

/** Length of a tick of /proc, in microseconds: 100 a second on every Linux that Node runs on. */
const TICK = 10_000;

/**
 * CPU of a process, of its children, and of those that have ended, in microseconds. PostgreSQL has a process for each
 * connection. Undefined where there is no /proc.
 */
export function cpuOf(pid: number): number | undefined {
  try {
    const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
    return [String(pid), ...children].reduce((sum, name) => sum + ticksOf(name), 0) * TICK;
  } catch {
    return undefined;
  }
}

/** The fields after the name of the program, which may contain spaces. */
function fieldsOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

const parentOf = (pid: string) => Number(fieldsOf(pid)[1]);

/** User and system time of the process, and of its children that have ended. */
const ticksOf = (pid: string) =>
  fieldsOf(pid)
    .slice(11, 15)
    .reduce((sum, field) => sum + Number(field), 0);

/** Resident memory of a process in MB; undefined where there is no /proc, or when it has ended. */
export function residentOf(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}
