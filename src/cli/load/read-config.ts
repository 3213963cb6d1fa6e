import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { checkConfig, type PunctualConfig } from "../../config.ts";
import { PunctualError } from "../../errors.ts";
import { Exit, exitCodes } from "../exit-codes.ts";
import { plain } from "../output.ts";
import { describe } from "./describe.ts";
import { importFile } from "./import-file.ts";

export const CONFIG_NAMES: string[] = ["ts", "mts", "js", "mjs"].map((ending) => `punctual.config.${ending}`);

export interface FoundConfig {
  /** Null: there is none, and the defaults hold. */
  file: string | null;
  config: PunctualConfig;
}

/** The config of `--config`, `PUNCTUAL_CONFIG`, this folder or its package.json. */
export async function readConfig(named: string | undefined): Promise<FoundConfig> {
  const file = findConfig(named);
  if (file === null) return { file, config: {} };
  const loaded = await importFile(resolve(file), 10_000);
  if (!loaded.ok) throw new Exit(exitCodes.notLoaded, describe(file, loaded.problem));
  const exported = loaded.module.default;
  if (exported === undefined) {
    throw new Exit(
      exitCodes.notLoaded,
      `${file} has no default export. Write: export default defineConfig({ … })`,
    );
  }
  try {
    const mode = process.env.PUNCTUAL_ENV ?? process.env.NODE_ENV ?? "development";
    return {
      file,
      config: checkConfig(typeof exported === "function" ? await exported({ mode }) : exported),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const suffix = error instanceof PunctualError ? ` (${error.code})` : "";
    throw new Exit(exitCodes.notLoaded, plain(`${file}: ${reason}${suffix}`));
  }
}

function findConfig(named: string | undefined): string | null {
  const given = named ?? process.env.PUNCTUAL_CONFIG ?? fromPackage();
  if (given === null) return CONFIG_NAMES.find((name) => existsSync(name)) ?? null;
  const kind = statSync(given, { throwIfNoEntry: false });
  if (kind?.isFile()) return given;
  const by =
    named !== undefined
      ? "--config"
      : process.env.PUNCTUAL_CONFIG !== undefined
        ? "PUNCTUAL_CONFIG"
        : "package.json";
  throw new Exit(
    exitCodes.notLoaded,
    kind
      ? `${given} (named by ${by}) is a folder. Name the config file in it.`
      : `There is no config file ${given} (named by ${by}) in ${process.cwd()}.`,
  );
}

/** `"punctual": { "config": "…" }` in package.json. */
function fromPackage(): string | null {
  if (!existsSync("package.json")) return null;
  let named: unknown;
  try {
    named = (JSON.parse(readFileSync("package.json", "utf8")) as { punctual?: { config?: unknown } } | null)
      ?.punctual?.config;
  } catch {
    // Whoever needs a sound package.json will say so better.
    return null;
  }
  return typeof named === "string" && named !== "" ? named : null;
}
