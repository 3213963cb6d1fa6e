import { spawn } from "node:child_process";
import { Child } from "../../support/start-child.ts";

export interface SpawnOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/** Starts the Node that runs the tests, with a channel for messages. */
export function spawnNode(name: string, args: string[], { cwd, env }: SpawnOptions = {}): Child {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...process.env, ...env },
    ...(cwd !== undefined && { cwd }),
  });
  return new Child(name, child);
}
