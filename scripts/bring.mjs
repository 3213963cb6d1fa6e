// Runs a file of this project under the Node it is developed with, on a machine that may have an older one.
// Plain JavaScript on purpose: this file must run on whatever Node the machine has.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const node = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const stamp = join(root, "node_modules", ".punctual-lock");

function lockHash() {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
}

function isInstalled() {
  return existsSync(node) && existsSync(stamp) && readFileSync(stamp, "utf8") === lockHash();
}

if (!isInstalled()) {
  process.stderr.write("punctual: installing dependencies…\n");
  // Not `npm ci`: it refuses a lock file made where the binaries of other platforms could not be looked up.
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const installed = spawnSync(npm, ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (installed.status !== 0) {
    process.stderr.write("punctual: npm install failed; see its messages above.\n");
    process.exit(1);
  }
  writeFileSync(stamp, lockHash());
}

const [file, ...args] = process.argv.slice(2);
const child = spawn(node, [join(root, file), ...args], {
  cwd: root,
  stdio: "inherit",
  env: {
    ...process.env,
    PATH: [join(root, "node_modules", "node", "bin"), process.env.PATH].join(delimiter),
  },
});

// A terminal's Ctrl-C reaches the child by itself (same process group); a `kill` reaches only this process.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
