import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { type DatabaseChoice, databaseNamed } from "./databases.ts";
import type { Framework } from "./frameworks.ts";
import { carryOut, plan } from "./plan.ts";

interface Options {
  dir?: string;
  framework?: string;
}

/** Commands of each package manager: run a script, add packages, run `punctual`; and the lock file that reveals it. */
const MANAGERS = {
  npm: { run: "npm run", add: "npm install", call: "npx punctual", lock: "package-lock.json" },
  pnpm: { run: "pnpm", add: "pnpm add", call: "pnpm punctual", lock: "pnpm-lock.yaml" },
  yarn: { run: "yarn", add: "yarn add", call: "yarn punctual", lock: "yarn.lock" },
  bun: { run: "bun run", add: "bun add", call: "bunx punctual", lock: "bun.lock" },
};

type Manager = (typeof MANAGERS)["npm"];

export default function init(command: Command, cli: Cli): void {
  command
    .description(
      "Write a config, a first job and npm scripts into this folder. Existing files stay unchanged.\n--db sets the database: sqlite (the default), postgres, mysql or mariadb.",
    )
    .option("--dir <folder>", "where jobs are (default: jobs, in Nest src/jobs)")
    .option("--framework <name>", "next, nest or none (default: what the package depends on)")
    .action(async (options: Options) => {
      const { output } = cli;
      await cli.enter();
      const database = databaseNamed(cli.globals.db ?? "sqlite");
      const manager = managerHere();
      const { framework, ending, changes } = plan({
        ...options,
        database,
        call: manager.call,
        canExec: canExec(manager),
      });
      carryOut(changes);
      const next = nextCommands(database, framework, manager);
      if (output.isJson) {
        const files = changes.map(({ file, what }) => ({ file, what }));
        output.json({
          database: database.name,
          driver: database.driver,
          framework: framework.name,
          files,
          next,
        });
        return;
      }
      for (const { file, what } of changes) output.print(`${what.padEnd(8)} ${file}`);
      output.note("");
      if (ending === "mts") {
        output.note('package.json has "type": "commonjs": end the names of job files in .mts, or change it:');
        output.note("npm pkg set type=module");
        output.note("");
      }
      if (database.driver !== null) {
        const { name, driver } = database;
        const needs = isInstalled(driver) ? "" : `${name} needs its driver, ${driver}. `;
        output.note(`${needs}Set PUNCTUAL_DATABASE_URL to your database,`);
        output.note(`or change it in the config, which has ${database.url}`);
        output.note("");
      }
      output.note("Next:");
      for (const line of next) output.note(`  ${line}`);
    });
}

function managerHere(): Manager {
  const agent = /^\w+/.exec(process.env.npm_config_user_agent ?? "")?.[0];
  const locked = Object.values(MANAGERS).find(({ lock }) => existsSync(lock));
  return locked ?? MANAGERS[agent as keyof typeof MANAGERS] ?? MANAGERS.npm;
}

/** Whether package scripts can use `exec`: Yarn's own shell and cmd of Windows cannot. */
function canExec(manager: Manager): boolean {
  return manager !== MANAGERS.yarn && process.platform !== "win32";
}

function nextCommands(database: DatabaseChoice, { build }: Framework, { add, call, run }: Manager): string[] {
  const missing = ["punctual", ...(database.driver === null ? [] : [database.driver])].filter(
    (name) => !isInstalled(name),
  );
  return [
    ...(missing.length > 0 ? [`${add} ${missing.join(" ")}`] : []),
    ...(build === null ? [] : [`${run} ${build}`]),
    ...(database.driver === null ? [] : [`${call} install`]),
    `${call} work`,
    `${call} dispatch hello --set name=you`,
    `${call} status`,
  ].slice(0, missing.length > 0 && database.driver !== null ? 4 : undefined);
}

function isInstalled(name: string): boolean {
  try {
    createRequire(join(process.cwd(), "package.json")).resolve(name);
    return true;
  } catch (error) {
    // The package is installed, but exports nothing for require().
    return (error as { code?: string }).code === "ERR_PACKAGE_PATH_NOT_EXPORTED";
  }
}
