import { isPunctualError } from "../../errors.ts";
import { Exit, exitCodeOf, exitCodes } from "./exit-codes.ts";
import { type Output, plain } from "./output.ts";

/** Prints an error and returns the exit code. */
export function printError(error: unknown, output: Output, verbose: boolean): number {
  // Commander has printed its errors already.
  const { code: kind, exitCode } = (error ?? {}) as { code?: unknown; exitCode?: number };
  if (typeof kind === "string" && kind.startsWith("commander.")) {
    return exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  }
  const code = exitCodeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (message !== "") {
    const known = error instanceof Exit || isPunctualError(error);
    const suffix = isPunctualError(error) ? ` (${error.code})` : "";
    output.complain(`${output.paint("red", "punctual:", output.stderr)} ${linesOf(message)}${suffix}`);
    if (verbose && error instanceof Error && error.stack) output.complain(linesOf(error.stack));
    else if (!known) output.complain("This error is unexpected. -v shows its stack.");
  }
  return code;
}

function linesOf(text: string): string {
  return text.split("\n").map(plain).join("\n");
}
