import type { Command } from "commander";
import { isPunctualError } from "../errors.ts";
import type { Cli } from "./cli.ts";
import { commands } from "./commands.ts";
import { addCommonOptions } from "./input/options.ts";
import { rewordUsageErrors } from "./input/usage-errors.ts";
import { Exit, exitCodeOf, exitCodes } from "./output/exit-codes.ts";
import { type Output, plain } from "./output/output.ts";

/** Adds every command to a program. The module of a command is loaded when the command is called. */
export function addCommands(program: Command, cli: Cli, mounted = false): void {
  const loading = new Map<Command, () => Promise<void>>();
  for (const { name, summary, group, aliases = [], alone, load } of commands) {
    if (alone && mounted) continue;
    const command = program.command(name).summary(summary).description(summary).helpGroup(`${group}:`);
    for (const alias of aliases) command.alias(alias);
    loading.set(command, async () => {
      loading.delete(command);
      (await load())(command, cli);
    });
  }
  program.hook("preSubcommand", async (_, command) => {
    const load = loading.get(command);
    if (!load) return;
    if (mounted) prepareMounted(command, cli);
    await load();
  });
}

/** Prepares a command of a mounted program: it gets the common options and prints its own errors. */
function prepareMounted(command: Command, cli: Cli): void {
  addCommonOptions(command);
  rewordUsageErrors(command, true);
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? exitCodes.ok : exitCodes.usage));
  catchErrors(command, cli);
}

function catchErrors(command: Command, cli: Cli): void {
  const action = command.action.bind(command);
  command.action = (act) =>
    action(async function (this: Command, ...args) {
      try {
        await act.apply(this, args);
      } catch (error) {
        process.exitCode = printError(error, cli.output, Number(cli.globals.verbose ?? 0) > 0);
      }
    });
  const sub = command.command.bind(command) as (...args: unknown[]) => Command;
  command.command = ((...args: unknown[]) => {
    const made = sub(...args);
    catchErrors(made, cli);
    return made;
  }) as typeof command.command;
}

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
