// Runs fleets of real processes on each database while faults happen, and checks that nothing was lost, doubled or over
// a limit: `npm run campaign -- --minutes 30 --seed 7 --database postgres,galera`. Exits with 1 on a violation.
// `--faults` chooses kinds of faults, `--patience` the seconds without progress after which runs count as stuck,
// `--long` the fraction of long runs. `--mutants` plants faults in a copy of the product, and shows that each is
// caught.
import { parseArgs } from "node:util";
import { runCampaign } from "../test/campaign/support/campaign.ts";
import { summarise } from "../test/campaign/support/summary.ts";
import { clusterNames, databaseNames, type TargetName } from "../test/campaign/support/target.ts";
import { provision } from "../test/servers/provision.ts";
import type { ServerKind } from "../test/servers/server.ts";
import { plantMutants } from "./campaign-mutants.ts";

const { values, positionals } = parseArgs({
  options: {
    minutes: { type: "string", default: "3" },
    seed: { type: "string" },
    database: { type: "string", default: databaseNames.join(",") },
    faults: { type: "string" },
    patience: { type: "string", default: "120" },
    long: { type: "string", default: "0.02" },
    verbose: { type: "boolean", default: false },
    mutants: { type: "boolean", default: false },
  },
  allowPositionals: true,
});

if (values.mutants) process.exit((await plantMutants(positionals)) ? 0 : 1);

/** The server that a target needs. */
const SERVER_OF: Partial<Record<TargetName, ServerKind>> = {
  postgres: "postgres",
  mysql: "mysql",
  mariadb: "mariadb",
  galera: "mariadb",
  "group-replication": "mysql",
  patroni: "postgres",
};

// An exit of this process removes its disks; a signal alone would end it without one.
for (const [signal, code] of [
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)
  process.once(signal, () => process.exit(code));

const names = values.database.split(",") as TargetName[];
const known: TargetName[] = [...databaseNames, ...clusterNames];
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`--database takes ${known.join(", ")}; not ${unknown.join(", ")}.`);
const seconds = Number(values.minutes) * 60;
if (!(seconds > 0)) throw new Error(`--minutes takes a number above 0, not ${values.minutes}.`);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const faults = values.faults?.split(",");
const patience = Number(values.patience);
const long = Number(values.long);
console.log(`seed ${seed}`);
for (const target of names) {
  const server = SERVER_OF[target];
  if (server) provision(server);
  const print = (text: string) => {
    if (values.verbose) console.log(`${target}: ${text}`);
  };
  const report = await runCampaign({
    target,
    seconds,
    seed,
    patience,
    long,
    print,
    ...(faults && { faults }),
  });
  console.log(`${summarise(report)}\n${JSON.stringify({ ...report, violations: report.violations.length })}`);
  if (report.violations.length > 0) process.exitCode = 1;
}
// Nothing of a campaign is worth waiting for.
process.exit();
