import type { Cli } from "../cli.ts";
import { Exit, exitCodeOfSignal, exitCodes } from "../output/exit-codes.ts";

/** Whether a person can answer a question: on a terminal, outside CI and without `--no-input`. */
export function canAsk({ globals, output }: Cli): boolean {
  const { CI } = process.env;
  const isUnattended = globals.input === false || (CI !== undefined && CI !== "" && CI !== "false");
  return !isUnattended && process.stdin.isTTY === true && output.stderr.isTTY === true;
}

/** Asks for confirmation; throws unless the answer is yes. Without a terminal, only `--yes` confirms. */
export async function confirm(cli: Cli, question: string): Promise<void> {
  if (cli.globals.yes) return;
  const { output } = cli;
  if (!canAsk(cli)) {
    throw new Exit(exitCodes.refused, `${question} There is no terminal to confirm on; pass --yes.`);
  }
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  let interrupted = false;
  lines.once("SIGINT", () => {
    interrupted = true;
    lines.close();
  });
  const answer = await Promise.race([lines.question(`${question} [y/N] `).catch(() => ""), closed]);
  lines.close();
  if (interrupted) {
    // Ends the line of the question.
    output.complain("");
    throw new Exit(exitCodeOfSignal("SIGINT"), "Nothing was done.");
  }
  if (!/^y(es)?$/i.test(answer.trim())) throw new Exit(exitCodes.refused, "Nothing was done.");
}
