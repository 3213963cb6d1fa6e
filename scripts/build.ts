import { rmSync } from "node:fs";
import { join } from "node:path";
import { root, runTool } from "./run-tool.ts";

rmSync(join(root, "dist"), { recursive: true, force: true });
if (!runTool("tsc", "-p", "tsconfig.build.json")) process.exit(1);
if (!runTool("vite", "build", "dashboard")) process.exit(1);
