import { Command } from "commander";
import { version } from "../version.ts";
import { addCommands, commands } from "./commands.ts";
import { addCommonOptions, addSourceOptions, checkGlobals, type Globals } from "./input/options.ts";
import { rewordUsageErrors } from "./input/usage-errors.ts";
import { exitCodes } from "./output/exit-codes.ts";
import { Output } from "./output/output.ts";
import { printError } from "./output/print-error.ts";
import { Session } from "./session.ts";

/** Runs the `punctual` program. */
export async function main(argv: string[]): Promise<void> {
  dropWarnings();
  // A reader that stops early, such as `head`, is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    // The terminal window was closed.
    if (error.code === "EIO") process.exit(129);
    process.stderr.write(`punctual: Standard output cannot be written: ${error.message}.\n`);
    process.exit(exitCodes.failed);
  });
  // A worker must continue when its notes cannot be written.
  process.stderr.on("error", () => {});
  const globals: Globals = {};
  const session = new Session(globals, new Output(process.stdout, process.stderr, globals));
  const name = session.output.paint("red", "punctual:", process.stderr);
  const program = new Command("punctual")
    .description("Jobs and schedules on the database you already have.")
    .version(version(), "-V, --version")
    .helpOption("-h, --help", "show help")
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, name)) })
    .commandsGroup("Other:")
    .helpCommand(true)
    .exitOverride();
  rewordUsageErrors(program);
  addCommonOptions(addSourceOptions(program));
  addCommands(program, session);
  program.hook("preAction", (_, command) => {
    Object.assign(globals, command.optsWithGlobals());
    return checkGlobals(globals);
  });
  try {
    await program.parseAsync(attachQuery(helpArguments(argv)));
  } catch (error) {
    process.exitCode = printError(error, session.output, (globals.verbose ?? 0) > 0);
  }
  try {
    await session.close();
  } catch (error) {
    process.exitCode ||= printError(error, session.output, (globals.verbose ?? 0) > 0);
  }
  // Job files may have opened servers, pools or timers, which keep the process alive.
  if (session.hasLoadedCode) await leave();
}

/**
 * Rewrites `help work` to `work --help`: only a called command has been loaded with its options. An unknown command
 * stays without `--help`, so that commander reports it.
 */
function helpArguments(argv: string[]): string[] {
  const [node, script, first, ...rest] = argv;
  const [wanted] = rest;
  if (first !== "help" || wanted === undefined) return argv;
  const isKnown = commands.some(({ name, aliases }) => name === wanted || aliases?.includes(wanted));
  return [node!, script!, ...rest, ...(isKnown || wanted.startsWith("-") ? ["--help"] : [])];
}

/**
 * Writes `--where -queue:bulk` as one word: the program parses options before the command that has `--where` is loaded,
 * and would read `-q` as the option for quiet output.
 */
function attachQuery(argv: string[]): string[] {
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  return argv.flatMap((word, index) => {
    const isQuery = (at: number) => at < end && argv[at - 1] === "--where" && argv[at]?.startsWith("-");
    if (isQuery(index)) return [];
    return isQuery(index + 1) ? [`${word}=${argv[index + 1]}`] : [word];
  });
}

/** Exits once both streams are flushed. */
async function leave(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise((written) => stream.write("", written));
  }
  process.exit();
}

/** Codes and types of Node's warnings that users of the command line need not act on. */
const DROPPED = ["MODULE_TYPELESS_PACKAGE_JSON", "ExperimentalWarning"];

/** Suppresses these warnings in this process. */
export function dropWarnings(): void {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    const [options] = rest as [{ type?: string; code?: string } | string | undefined];
    const given = typeof options === "object" && options !== null ? [options.type, options.code] : rest;
    const name = typeof warning === "string" ? [] : [warning.name];
    if ([...given, ...name].some((one) => DROPPED.includes(one as string))) return;
    (emitWarning as (...args: unknown[]) => void).call(process, warning, ...rest);
  }) as typeof process.emitWarning;
}
