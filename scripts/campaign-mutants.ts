import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CampaignMutant, mutants } from "../test/campaign/mutants.ts";
import { plant } from "../test/mutants/list.ts";
import { copyProject } from "./copy-project.ts";

/** Longest that a campaign may take beyond its faults. */
const REST = 8 * 60_000;

/** Seconds without progress after which runs count as stuck: longer than the wait for a sweep of batches. */
const PATIENCE = 60;

async function runMutant(copy: string, mutant: CampaignMutant): Promise<string> {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, plant(source, { ...mutant, tests: [] }));
  const { database, seconds, seed, long, faults = [] } = mutant;
  const args = ["--minutes", String(seconds / 60), "--seed", String(seed), "--database", database];
  if (long !== undefined) args.push("--long", String(long));
  if (faults.length > 0) args.push("--faults", faults.join(","));
  try {
    const child = spawn(process.execPath, ["scripts/campaign.ts", "--patience", String(PATIENCE), ...args], {
      cwd: copy,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: seconds * 1000 + REST,
      killSignal: "SIGKILL",
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (said += text));
    await once(child, "close");
    return said;
  } finally {
    writeFileSync(path, source);
  }
}

/** Plants the mutants whose rules contain every word, one by one, and prints whether the campaign caught each. */
export async function plantMutants(words: string[]): Promise<boolean> {
  const chosen = mutants.filter(({ rule }) =>
    words.every((word) => rule.toLowerCase().includes(word.toLowerCase())),
  );
  const copy = copyProject();
  let caught = 0;
  try {
    for (const mutant of chosen) {
      const since = performance.now();
      const said = await runMutant(copy, mutant);
      const isCaught = mutant.caught.test(said);
      if (isCaught) caught++;
      const took = Math.round((performance.now() - since) / 1000);
      const where = `${mutant.database}, seed ${mutant.seed}`;
      console.log(`${isCaught ? "caught" : "MISSED"}  ${took} s  ${where}: ${mutant.rule}`);
      if (!isCaught) console.log(said.split("\n").slice(0, 12).join("\n"));
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  console.log(`\n${caught} of ${chosen.length} mutants were caught.`);
  return caught === chosen.length;
}
