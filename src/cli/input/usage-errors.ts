import type { Command } from "commander";
import { plain } from "../output/output.ts";
import { didYouMean } from "./names.ts";

/**
 * Returns a command as typed in a shell: `app jobs status`. Call it after parsing began: until then commander may not
 * know the name of the program.
 */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/**
 * Rewords the usage errors of a command and of all subcommands added later, and adds a suggestion. `mounted`: the
 * program is the user's own, and its `help` command does not list our options.
 */
export function rewordUsageErrors(command: Command, mounted = false): void {
  const error = command.error.bind(command);
  command.error = (message, options) =>
    error(
      `error: ${plain(reword(command, message.replace(/^error: /, ""), options?.code, mounted))}`,
      options,
    );
  const add = command.command.bind(command) as (...args: unknown[]) => Command;
  command.command = ((...args: unknown[]) => {
    const added = add(...args);
    if (added !== command) rewordUsageErrors(added, mounted);
    return added;
  }) as typeof command.command;
}

function reword(command: Command, message: string, code: string | undefined, mounted: boolean): string {
  const { head, hint } = suggestionIn(message);
  const help = helpOf(command, mounted);
  const value = /'(.*?)'/s.exec(head)?.[1] ?? "";
  switch (code) {
    case "commander.unknownOption":
      return `${needlessValue(command, value) ?? `Unknown option ${value}.${hint}`} All options: ${help}`;
    case "commander.unknownCommand":
      return `Unknown command ${value}.${hint} All commands: ${help}`;
    case "commander.missingArgument": {
      const argument = command.registeredArguments.find((one) => one.name() === value);
      const what = argument?.description ? `, ${argument.description}` : "";
      return `Missing argument <${value}>${what}. See: ${help}`;
    }
    case "commander.optionMissingArgument":
      return `Missing value of ${value}. See: ${help}`;
    case "commander.excessArguments":
      return `${excess(command)} See: ${help}`;
    case "commander.invalidArgument":
      return invalid(head);
    default:
      return `${head}${hint} See: ${help}`;
  }
}

/** The message for `--json=yes`, where `--json` takes no value; null: a different error. */
function needlessValue(command: Command, given: string): string | null {
  const [, flag, value] = /^(--[^=]+)(=.*)$/s.exec(given) ?? [];
  for (let owner: Command | null = command; owner !== null && flag !== undefined; owner = owner.parent) {
    if (owner.options.some(({ long }) => long === flag)) return `${flag} takes no value: leave out ${value}.`;
  }
  return null;
}

/** Splits off commander's suggestion, which has its own line: `(Did you mean --check?)`, or `one of` several. */
function suggestionIn(message: string): { head: string; hint: string } {
  const [, head = message, close] = /^(.*)\n\(Did you mean (?:one of )?(.*)\?\)$/s.exec(message) ?? [];
  return { head, hint: close === undefined ? "" : ` Did you mean ${close.replace(/, ([^,]*)$/, " or $1")}?` };
}

function helpOf(command: Command, mounted: boolean): string {
  if (mounted) return `${pathOf(command)} --help`;
  const [program, ...rest] = pathOf(command).split(" ");
  return [program, "help", ...rest].join(" ");
}

function excess(command: Command): string {
  const { length } = command.registeredArguments;
  const takes = length === 0 ? "no arguments" : length === 1 ? "one argument" : `${length} arguments`;
  const over = command.args.slice(length).join(" ");
  return `${command.name()} takes ${takes}${length === 0 ? "" : " at most"}: leave out ${over}.`;
}

function invalid(message: string): string {
  const [, flags, given, why] =
    /^option '([^']*)' argument '(.*)' is invalid\. (.*)$/s.exec(message) ??
    reordered(/^command-argument value '(.*)' is invalid for argument '([^']*)'\. (.*)$/s.exec(message)) ??
    [];
  if (why === undefined) return message;
  const choices = /^Allowed choices are (.*)\.$/.exec(why)?.[1]?.split(", ");
  const expected = choices ? `Expected ${choices.join(", ")}.${didYouMean(given!, choices)}` : why;
  return `Invalid value "${given}" of ${flags}. ${expected}`;
}

function reordered(match: RegExpExecArray | null): string[] | null {
  return match && [match[0], `<${match[2]}>`, match[1]!, match[3]!];
}
