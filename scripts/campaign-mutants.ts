import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CampaignMutant, mutants } from "../test/campaign/mutants.ts";
import { plant } from "../test/mutants/list.ts";
import { copyProject } from "./copy-project.ts";

/** Longest that a campaign may take beyond its faults: the fleet has three minutes to finish. */
const REST = 8 * 60_000;

function runMutant(copy: string, mutant: CampaignMutant): string {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, plant(source, { ...mutant, tests: [] }));
  const { database, seconds, seed, faults = [] } = mutant;
  const args = ["--minutes", String(seconds / 60), "--seed", String(seed), "--database", database];
  if (faults.length > 0) args.push("--faults", faults.join(","));
  try {
    const { stdout, stderr } = spawnSync(process.execPath, ["scripts/campaign.ts", ...args], {
      cwd: copy,
      encoding: "utf8",
      timeout: seconds * 1000 + REST,
      killSignal: "SIGKILL",
    });
    return stdout + stderr;
  } finally {
    writeFileSync(path, source);
  }
}

/** Plants the mutants whose rules contain every word, one by one, and prints whether the campaign caught each. */
export function plantMutants(words: string[]): boolean {
  const chosen = mutants.filter(({ rule }) =>
    words.every((word) => rule.toLowerCase().includes(word.toLowerCase())),
  );
  const copy = copyProject();
  let caught = 0;
  try {
    for (const mutant of chosen) {
      const since = performance.now();
      const said = runMutant(copy, mutant);
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
