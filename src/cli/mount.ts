import type { Command } from "commander";
import type { Punctual } from "../punctual.ts";
import type { Cli } from "./cli.ts";
import { addCommands, commands } from "./commands.ts";
import type { Globals } from "./input/options.ts";
import { pathOf } from "./input/usage-errors.ts";
import { Output } from "./output/output.ts";

/** Matches a command in a hint, such as `punctual status`. */
const COMMAND = new RegExp(`\\bpunctual (${commands.map(({ name }) => name).join("|")})\\b`, "g");

/**
 * Adds the commands of `punctual`, such as `status` and `work`, to your own commander program, for these jobs.
 *
 * ```ts
 * mount(program.command("jobs"), jobs);
 * await program.parseAsync();
 * await jobs.stop();
 * ```
 */
export function mount(program: Command, jobs: Punctual): void {
  const globals: Globals = {};
  const cli: Cli = {
    globals,
    output: new Output(process.stdout, process.stderr, globals, (text) =>
      text.replace(COMMAND, `${pathOf(program)} $1`),
    ),
    enter: async () => {},
    open: async () => jobs,
    load: async () => jobs,
    config: async () => ({}),
    database: async () => null,
    files: async () => [],
  };
  addCommands(program, cli, true);
  program.hook("preAction", (_, command) => {
    Object.assign(globals, command.optsWithGlobals());
  });
}
