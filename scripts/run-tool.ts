import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("..", import.meta.url));

const TOOLS = {
  tsc: "node_modules/typescript/bin/tsc",
  biome: "node_modules/@biomejs/biome/bin/biome",
  vite: "node_modules/vite/bin/vite.js",
  vitest: "node_modules/vitest/vitest.mjs",
};

/** Runs one of the project's tools under this Node; true if it went well. */
export function runTool(tool: keyof typeof TOOLS, ...args: string[]): boolean {
  return spawnSync(process.execPath, [TOOLS[tool], ...args], { cwd: root, stdio: "inherit" }).status === 0;
}
