import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type ConfigSource, checkConfig, type PunctualConfig } from "./config.ts";
import { formatPath, PunctualError } from "./errors.ts";

export const CONFIG_NAMES: string[] = ["ts", "mts", "js", "mjs"].map((ending) => `punctual.config.${ending}`);

/**
 * Returns the config file named by `--config`, `PUNCTUAL_CONFIG` or package.json, else `punctual.config.*` in the
 * current folder; null when there is none.
 */
export function findConfig(named?: string): string | null {
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
  throw notLoaded(
    kind
      ? `${given} (named by ${by}) is a folder. Name the config file in it.`
      : `There is no config file ${formatPath(given)}: ${by} names it.`,
  );
}

/** Reads `"punctual": { "config": "…" }` from package.json. */
function fromPackage(): string | null {
  if (!existsSync("package.json")) return null;
  let named: unknown;
  try {
    named = (JSON.parse(readFileSync("package.json", "utf8")) as { punctual?: { config?: unknown } } | null)
      ?.punctual?.config;
  } catch {
    // npm and Node report a broken package.json themselves.
    return null;
  }
  return typeof named === "string" && named !== "" ? named : null;
}

/** Returns the config that a file exports. Calls an exported function with the mode. */
export function configOf(file: string, exported: unknown): PunctualConfig | Promise<PunctualConfig> {
  if (exported === undefined)
    throw notLoaded(`${file} has no default export. Write: export default defineConfig({ … })`);
  const mode = process.env.PUNCTUAL_ENV ?? process.env.NODE_ENV ?? "development";
  const source = exported as ConfigSource;
  return typeof source === "function" ? source({ mode }) : source;
}

/**
 * Returns the config of the current folder, for an instance that names no database, so that the command line and the
 * program use the same database; null when there is no config. Loads synchronously, because a constructor cannot await.
 */
export function configHere(): PunctualConfig | null {
  const file = findConfig();
  if (file === null) return null;
  const config = configOf(file, load(file));
  if (config instanceof Promise) {
    throw notLoaded(
      `${file} exports an async function, which only the command line awaits. Make it synchronous, or write new Punctual(database).`,
    );
  }
  try {
    return checkConfig(config);
  } catch (error) {
    throw notLoaded(`${file}: ${(error as Error).message}`, error);
  }
}

function load(file: string): unknown {
  // Neither an import statement nor a plain require(): bundlers would resolve the file at build time.
  const { createRequire } = process.getBuiltinModule("node:module");
  // Node warns about require() of an ES module unless the caller is below node_modules.
  const require = createRequire(join(process.cwd(), "node_modules", "punctual", "index.js"));
  try {
    const loaded = require(resolve(file)) as object;
    return "default" in loaded || Symbol.toStringTag in loaded
      ? (loaded as { default?: unknown }).default
      : loaded;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw notLoaded(
      `${file} cannot be loaded: ${reason} Punctual reads it because an instance names no database. Correct the file, or write new Punctual(database).`,
      error,
    );
  }
}

function notLoaded(message: string, cause?: unknown): PunctualError {
  return new PunctualError("CONFIG_NOT_LOADED", message, cause === undefined ? {} : { cause });
}
