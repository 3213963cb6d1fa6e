import { resolve } from "node:path";
import { checkConfig, type PunctualConfig } from "../../config.ts";
import { configOf, findConfig } from "../../config-file.ts";
import { isPunctualError } from "../../errors.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import { plain } from "../output/output.ts";
import { problemLine } from "./diagnose.ts";
import { importFile } from "./import-file.ts";

export interface ConfigFile {
  /** Null: no config file, so the defaults apply. */
  file: string | null;
  config: PunctualConfig;
}

/** Reads the config of `--config`, `PUNCTUAL_CONFIG`, the current folder or its package.json. */
export async function readConfig(named: string | undefined): Promise<ConfigFile> {
  const file = findConfig(named);
  if (file === null) return { file, config: {} };
  const loaded = await importFile(resolve(file), 10_000);
  if (!loaded.ok) throw new Exit(exitCodes.notLoaded, problemLine(file, loaded.problem));
  try {
    return { file, config: checkConfig(await configOf(file, loaded.module.default)) };
  } catch (error) {
    if (isPunctualError(error) && error.code === "CONFIG_NOT_LOADED") throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const suffix = isPunctualError(error) ? ` (${error.code})` : "";
    throw new Exit(exitCodes.notLoaded, plain(`${file}: ${reason}${suffix}`));
  }
}
