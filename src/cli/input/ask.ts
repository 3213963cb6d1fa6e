import type { Cli } from "../cli.ts";
import { Exit, exitCodeOfSignal, exitCodes } from "../output/exit-codes.ts";

/** Whether somebody is there to be asked. */
export function canAsk({ globals, output }: Cli): boolean {
  const { CI } = process.env;
  const alone = globals.input === false || (CI !== undefined && CI !== "" && CI !== "false");
  return !alone && process.stdin.isTTY === true && output.stderr.isTTY === true;
}

/** Goes on if the answer is yes; ends the command otherwise. With nobody there, only `--yes` is an answer. */
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
    // The question is still on the line.
    output.complain("");
    throw new Exit(exitCodeOfSignal("SIGINT"), "Nothing was done.");
  }
  if (!/^y(es)?$/i.test(answer.trim())) throw new Exit(exitCodes.refused, "Nothing was done.");
}
