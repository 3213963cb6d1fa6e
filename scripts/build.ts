import { rmSync } from "node:fs";
import { join } from "node:path";
import { buildPage } from "./build-page.ts";
import { root, runTool } from "./run-tool.ts";

rmSync(join(root, "dist"), { recursive: true, force: true });
if (!runTool("tsc", "-p", "tsconfig.build.json")) process.exit(1);
await buildPage(join(root, "dist/dashboard/page"));
