// The parent of one test server. When the process that started the server is gone, it ends the server and
// removes its folder. It is a process of its own because one that is killed cannot do that.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, rmSync } from "node:fs";

export interface Launch {
  file: string;
  args: string[];
  /** The server's output is appended to this file. */
  log: string;
  abort: NodeJS.Signals;
  runAs?: { uid: number; gid: number };
}

export type Report = { pid: number } | { failed: string } | { exited: string };

const folder = process.argv[2]!;
let server: ChildProcess | undefined;
let abort: NodeJS.Signals = "SIGKILL";

function tell(report: Report): void {
  if (process.connected) process.send!(report);
}

process.on("message", (launch: Launch) => {
  abort = launch.abort;
  const log = openSync(launch.log, "a");
  const child = spawn(launch.file, launch.args, { cwd: "/", stdio: ["ignore", log, log], ...launch.runAs });
  closeSync(log);
  server = child;
  child.on("spawn", () => tell({ pid: child.pid! }));
  child.on("error", (error) => tell({ failed: error.message }));
  child.on("exit", (code, signal) => {
    server = undefined;
    tell({ exited: signal ?? `code ${code}` });
  });
});

process.on("disconnect", () => {
  const finish = () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  if (!server) return finish();
  const stopped = server;
  stopped.once("exit", finish);
  stopped.kill(abort);
  // A server that was stopped by a signal (SIGSTOP) handles only this one.
  setTimeout(() => stopped.kill("SIGKILL"), 5000).unref();
});

// Ctrl-C in a terminal is for the tests; when they end, this process ends too.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
