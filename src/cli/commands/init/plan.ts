import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { CONFIG_NAMES } from "../../../config-file.ts";
import { formatValue } from "../../../errors.ts";
import { DEFAULT_JOBS } from "../../load/find-files.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import type { DatabaseChoice } from "./databases.ts";
import { configText, ignoreText, type Package, packageText } from "./files.ts";
import { type Framework, frameworkNamed } from "./frameworks.ts";

export interface Change {
  file: string;
  what: "created" | "changed" | "kept";
  text: string;
  before: string | null;
}

export interface InitOptions {
  database: DatabaseChoice;
  /** The value of `--framework`; undefined: detected from the package's dependencies. */
  framework?: string;
  dir?: string;
  /** The command that starts `punctual` here, such as `npx punctual`. */
  call: string;
  /** Whether scripts of package.json run in a shell that has `exec`. */
  canExec: boolean;
}

export interface InitPlan {
  framework: Framework;
  /** Ending of job files here: `mts` in a CommonJS package. */
  ending: "ts" | "mts";
  changes: Change[];
}

/** Plans the files to write. Throws before anything is written. */
export function plan({ database, framework: named, dir: given, call, canExec }: InitOptions): InitPlan {
  const manifest = read("package.json");
  const parsed = parse(manifest);
  const framework = frameworkNamed(named, parsed);
  const dir = given ?? framework.dir;
  const folder = normalize(dir).replace(/[\\/]+$/, "");
  if (/^(\.\.|\/|[A-Za-z]:|\.$)/.test(folder) || /["'`*{}\\]/.test(folder.replaceAll(sep, "/"))) {
    throw new Exit(
      exitCodes.usage,
      `Expected --dir as a folder below this one, such as jobs, got ${formatValue(dir)}.`,
    );
  }
  if (existsSync(folder) && !statSync(folder).isDirectory()) {
    throw new Exit(exitCodes.usage, `--dir ${plain(dir)} is a file here, not a folder. Name another one.`);
  }
  // In a CommonJS package only .mts is an ES module. Compiled sources follow the settings of the package.
  const ending = parsed.type === "commonjs" && framework.build === null ? "mts" : "ts";
  const config = CONFIG_NAMES.find((name) => existsSync(name));
  const job = join(folder, `hello.${ending}`);
  const changed = packageText(manifest, canExec);
  const path = folder.replaceAll(sep, "/");
  const pattern = framework.jobs(path, DEFAULT_JOBS.replace(/^jobs/, path));
  const changes = [
    change(
      config ?? `punctual.config.${framework.configEnding ?? ending}`,
      config ? null : configText(database, pattern),
    ),
    change(job, existsSync(job) ? null : framework.job(call)),
    ...framework.files(folder).map(({ file, text }) => change(file, existsSync(file) ? null : text)),
    change("package.json", changed),
    ...(database.ignored === null
      ? []
      : [change(".gitignore", ignoreText(read(".gitignore"), database.ignored))]),
  ];
  return { framework, ending, changes };
}

function change(file: string, text: string | null): Change {
  const before = read(file);
  const what = text === null ? "kept" : before === null ? "created" : "changed";
  return { file, what, text: text ?? "", before };
}

function read(file: string): string | null {
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}

function parse(manifest: string | null): Package {
  try {
    const found: unknown = manifest === null ? {} : JSON.parse(manifest);
    if (typeof found === "object" && found !== null && !Array.isArray(found)) return found;
  } catch {
    // Reported below.
  }
  throw new Exit(
    exitCodes.notLoaded,
    "package.json here is not a JSON object. Fix it first; nothing was written.",
  );
}

/** Writes all changes, or none: an error undoes the changes before it. */
export function carryOut(changes: Change[]): void {
  const undo: (() => void)[] = [];
  try {
    for (const { file, what, text, before } of changes) {
      if (what === "kept") continue;
      const made = mkdirSync(dirname(file), { recursive: true });
      if (made !== undefined) undo.unshift(() => rmSync(made, { recursive: true }));
      undo.unshift(() => (before === null ? rmSync(file, { force: true }) : writeFileSync(file, before)));
      writeFileSync(file, text, before === null ? { flag: "wx" } : {});
    }
  } catch (error) {
    for (const step of undo) {
      try {
        step();
      } catch {
        // The error below names the files that could not be removed again.
      }
    }
    throw new Exit(
      exitCodes.failed,
      `The files could not be written: ${plain((error as Error).message)}. All of them were removed again.`,
    );
  }
}
