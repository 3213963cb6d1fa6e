import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../test/servers/free-port.ts";
import { findProgram, versionIn, versionText } from "../../test/servers/programs.ts";

export interface RedisServer {
  url: string;
  version: string;
  pid: number;
  flush(): Promise<void>;
  /** Number of commands so far. */
  calls(): Promise<number>;
  stop(): Promise<void>;
}

export const findRedis = (): string | undefined => findProgram("redis-server");

/** Starts a private Redis. `appendfsync everysec` is its own recommendation; a crash may lose a second of jobs. */
export async function startRedis(): Promise<RedisServer> {
  const program = findRedis();
  if (!program) throw new Error("Redis was not found: install it (Debian: apt-get install redis-server).");
  const folder = mkdtempSync(join(tmpdir(), "punctual-redis-"));
  const port = await freePort();
  const settings = {
    port,
    bind: "127.0.0.1",
    dir: folder,
    save: "",
    appendonly: "yes",
    appendfsync: "everysec",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child: ChildProcess = spawn(program, args, { stdio: "ignore" });
  const stop = async () => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", () => child.kill("SIGKILL"));
  await answers(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    version: versionIn(versionText(program)) ?? "",
    pid: child.pid!,
    flush: async () => void (await command(port, "FLUSHALL")),
    calls: async () => Number(/total_commands_processed:(\d+)/.exec(await command(port, "INFO stats"))?.[1]),
    stop,
  };
}

async function answers(port: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    const pong = await command(port, "PING").catch(() => "");
    if (pong.startsWith("+PONG")) return;
    if (tries === 200) throw new Error("Redis does not answer.");
    await sleep(20);
  }
}

/** Sends one command and returns the first piece of the answer. */
async function command(port: number, name: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    socket.write(`${name}\r\n`);
    const [answer] = await once(socket, "data");
    return String(answer);
  } finally {
    socket.destroy();
  }
}
