import { pathToFileURL } from "node:url";
import { systemClock } from "../../time.ts";
import { diagnose, type LoadProblem } from "./diagnose.ts";

export type ImportResult =
  | { ok: true; module: Record<string, unknown> }
  | { ok: false; problem: LoadProblem; error: unknown };

/** Imports a file with Node's own loader. Returns an error as a `LoadProblem`, with a suggested fix. */
export async function importFile(file: string, timeout: number): Promise<ImportResult> {
  const tooLong = Promise.withResolvers<null>();
  // The timer keeps the process alive: if the import waits for ever, Node would exit silently.
  const cancel = systemClock.after(timeout, () => tooLong.resolve(null));
  try {
    const module = await Promise.race([import(pathToFileURL(file).href), tooLong.promise]);
    if (module !== null) return { ok: true, module };
    const message =
      `The file has not finished loading after ${timeout / 1000} s: a top-level await does not end. ` +
      "Start servers and loops elsewhere, or raise loadTimeout in the config.";
    return { ok: false, problem: { file, line: null, message, code: null }, error: null };
  } catch (error) {
    return { ok: false, problem: diagnose(error, file), error };
  } finally {
    cancel();
  }
}
