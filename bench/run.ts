// Runs every benchmark: `npm run bench`, or `npm run bench -- --quick` for one short round of each.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith(".ts") && file !== "run.ts");
let failed = false;
for (const file of files.sort()) {
  console.log(`\n# ${file}`);
  const args = [join(import.meta.dirname, file), ...process.argv.slice(2)];
  failed = spawnSync(process.execPath, args, { stdio: "inherit" }).status !== 0 || failed;
}
process.exit(failed ? 1 : 0);
