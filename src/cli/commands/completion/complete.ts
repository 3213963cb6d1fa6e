import { Command, type Option } from "commander";
import { finishedStates } from "../../../run/states.ts";
import { systemClock } from "../../../time.ts";
import { isPlainQueue } from "../../../validate/queue-list.ts";
import type { Cli } from "../../cli.ts";
import { commands } from "../../commands.ts";
import { addCommonOptions, addSourceOptions } from "../../input/options.ts";
import { plain } from "../../output/output.ts";
import type { Names } from "./names.ts";

/** Longest wait for completions: a person is typing. */
const ANSWER_WITHIN = 200;

interface CompletionItem {
  word: string;
  means?: string;
}

/** Prints the possible completions of the last word, one per line. Never prints an error. */
export async function complete(words: string[]): Promise<void> {
  const [first, ...rest] = words;
  const all = first === "--next" ? [...rest, ""] : words;
  let found: CompletionItem[] = [];
  try {
    found = await completions(all);
  } catch {
    // An error message would end up in the user's command line.
  }
  const lines = found.map(({ word, means }) => `${word}${means ? `\t${means.split("\n")[0]}` : ""}\n`);
  await new Promise((written) => process.stdout.write(lines.join(""), written));
  // Exits at once: the database may be slow, or a config may have opened a connection.
  process.exit(0);
}

export async function completions(words: string[]): Promise<CompletionItem[]> {
  const current = words.at(-1) ?? "";
  const { command, chain, args, pending, globals } = await walk(words.slice(0, -1));
  const options = [...chain].flatMap((one) => one.options);
  const inline = /^(--[^=]+)=(.*)$/.exec(current);
  const valued = inline ? options.find(({ long }) => long === inline[1]) : pending;
  if (valued) {
    const typed = inline ? inline[2]! : current;
    const values = await valuesOf(valued, command, globals, typed);
    return startingWith(values, typed).map(({ word, ...rest }) => ({
      ...rest,
      word: inline ? `${inline[1]}=${word}` : word,
    }));
  }
  if (current.startsWith("-")) return startingWith(flags(options), current);
  if (command.commands.length > 0) return startingWith(subcommands(command), current);
  return startingWith(await argumentsOf(command, args, globals), current);
}

interface CommandLine {
  command: Command;
  /** The program, the command and its subcommands, in this order. */
  chain: Command[];
  args: string[];
  /** The option whose value comes next. */
  pending: Option | null;
  /** Values of options, such as `--db`. */
  globals: Record<string, string>;
}

/** Parses the words before the cursor. */
async function walk(words: string[]): Promise<CommandLine> {
  const program = addCommonOptions(addSourceOptions(new Command("punctual")));
  for (const { name, summary, aliases = [] } of commands) {
    const command = program.command(name).summary(summary);
    for (const alias of aliases) command.alias(alias);
  }
  program.option("-V, --version", "output the version number").option("-h, --help", "show help");
  const line: CommandLine = { command: program, chain: [program], args: [], pending: null, globals: {} };
  for (const word of words) {
    if (line.pending) {
      line.globals[line.pending.attributeName()] = word;
      line.pending = null;
    } else if (word.startsWith("-")) {
      const option = line.chain
        .flatMap(({ options }) => options)
        .find(({ long, short }) => long === word || short === word);
      line.pending = option?.required ? option : null;
    } else {
      const next = line.command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (next) await enter(line, next);
      else line.args.push(word);
    }
  }
  return line;
}

async function enter(line: CommandLine, command: Command): Promise<void> {
  const entry = line.chain.length === 1 && commands.find(({ name }) => name === command.name());
  // Adds the options and arguments of the command; its action is never called.
  if (entry) (await entry.load())(command, {} as Cli);
  line.command = command;
  line.chain.push(command);
}

function flags(options: Option[]): CompletionItem[] {
  return options
    .filter(({ hidden }) => !hidden)
    .map(({ long, short, description }) => ({ word: long ?? short!, means: description }));
}

function subcommands(command: Command): CompletionItem[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible
    .filter((one) => one.name() !== "help")
    .map((one) => ({ word: one.name(), means: one.summary() || one.description() }));
}

/** Kind of the names that an option takes, for options without a list of choices. */
const OPTION_NAMES: Record<string, keyof Names> = {
  "--queue": "queues",
  "--queues": "queues",
};

async function valuesOf(
  option: Option,
  command: Command,
  globals: CommandLine["globals"],
  typed: string,
): Promise<CompletionItem[]> {
  if (option.argChoices) return toCompletions(option.argChoices);
  if (option.long === "--state") return toCompletions(finishedStates);
  const kind = option.long && OPTION_NAMES[option.long];
  if (!kind) return [];
  const found = named(kind, await namesWithin(globals), command);
  return option.long === "--queues" ? nextQueues(found, typed) : found;
}

/** Completes the last queue of a list such as `emails,reports*2,!bulk`. */
function nextQueues(queues: CompletionItem[], typed: string): CompletionItem[] {
  const [before] = /^(.*,)?!?/s.exec(typed)!;
  const given = before.split(",").map((word) => word.replace(/^!|\*\d*$/g, ""));
  return queues
    .filter(({ word }) => isPlainQueue(word) && !given.includes(word))
    .map(({ word }) => ({ word: `${before}${word}` }));
}

async function argumentsOf(
  command: Command,
  args: string[],
  globals: CommandLine["globals"],
): Promise<CompletionItem[]> {
  const all = command.registeredArguments;
  const argument = all[args.length] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
  if (!argument) return [];
  if (argument.argChoices) return toCompletions(argument.argChoices);
  const name = argument.name();
  // `pause queue <name>`: the word before the name is its kind.
  const kind = command.name() === "pause" || command.name() === "resume" ? `${args[0]}s` : null;
  const wanted = kind ?? (/job/.test(name) ? "jobs" : name === "worker" ? "workers" : null);
  return wanted === null ? [] : named(wanted as keyof Names, await namesWithin(globals), command);
}

function named(kind: keyof Names, names: Names | null, command: Command): CompletionItem[] {
  if (names === null) return [];
  if (kind === "schedules") {
    const jobs = [...new Set(names.schedules.map(({ job }) => job))];
    return [
      ...toCompletions(jobs),
      ...names.schedules.map(({ id, job }) => ({ word: String(id), means: plain(job) })),
    ];
  }
  const scheduled = command.parent?.name() === "schedule";
  if (scheduled) return toCompletions([...new Set(names.schedules.map(({ job }) => job))]);
  return toCompletions(names[kind] ?? []);
}

/** Skips names with control characters, which could control the terminal or end the line. */
function toCompletions(words: readonly string[]): CompletionItem[] {
  return words.filter((word) => plain(word) === word).map((word) => ({ word }));
}

function startingWith(all: CompletionItem[], current: string): CompletionItem[] {
  return all.filter(({ word }) => word.startsWith(current));
}

async function namesWithin(globals: CommandLine["globals"]): Promise<Names | null> {
  const { namesIn } = await import("./names.ts");
  const late = new Promise<null>((resolve) => {
    systemClock.after(ANSWER_WITHIN, () => resolve(null), { background: true });
  });
  return Promise.race([namesIn(globals).catch(() => null), late]);
}
