import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder } from "./cache.ts";
import type { Program, ServerKind } from "./server.ts";

/** A new folder that only the server's user may enter. */
export async function serverFolder(kind: ServerKind, { runAs }: Program): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `punctual-${kind}-`));
  if (runAs) await chown(folder, runAs.uid, runAs.gid);
  return folder;
}

/** Fills `dataDir` with an empty server's data, from a cached copy for each version: making them takes seconds. */
export async function fillDataDir(kind: ServerKind, program: Program, dataDir: string): Promise<void> {
  const templates = join(cacheFolder(), "templates");
  // Other options need another copy.
  const way = createHash("sha256").update(JSON.stringify([program.initialise(""), program.runAs]));
  const template = join(templates, `${kind}-${program.version}-${way.digest("hex").slice(0, 8)}`);
  if (!existsSync(template)) await makeTemplate(kind, program, templates, template);
  await copy(template, dataDir);
}

/** Fills `dataDir` with a copy of the server at `port`: a server started on it follows that one. */
export async function copyRunning({ follow, runAs }: Program, dataDir: string, port: number): Promise<void> {
  if (!follow) throw new Error("There is no way to make a standby of this server.");
  const { file, args } = follow(dataDir, port);
  await run(file, args, runAs);
}

/** With owners and modes, which Node's own copy does not keep. */
const copy = (from: string, to: string) => run("cp", ["-a", from, to]);

async function makeTemplate(
  kind: ServerKind,
  program: Program,
  templates: string,
  template: string,
): Promise<void> {
  const folder = await serverFolder(kind, program);
  await mkdir(templates, { recursive: true });
  const unfinished = await mkdtemp(`${template}.`);
  try {
    const made = join(folder, "data");
    const { file, args } = program.initialise(made);
    await run(file, args, program.runAs);
    await copy(made, join(unfinished, "data"));
    // The second process finds the first one's template.
    await rename(join(unfinished, "data"), template).catch((error) => {
      if (!existsSync(template)) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function run(file: string, args: string[], runAs?: Program["runAs"]): Promise<void> {
  const child = spawn(file, args, { cwd: "/", stdio: ["ignore", "pipe", "pipe"], ...runAs });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (said += data));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${file} ${args.join(" ")} failed (code ${code}):\n${said}`);
}
