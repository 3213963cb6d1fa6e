import type { Command } from "commander";
import type { Cli } from "./cli.ts";
import { addCommonOptions } from "./input/options.ts";
import { rewordUsageErrors } from "./input/usage-errors.ts";
import { exitCodes } from "./output/exit-codes.ts";
import { printError } from "./output/print-error.ts";

/** Adds the arguments, the options and the action to a command. */
export type CommandSetup = (command: Command, cli: Cli) => void;

export interface CommandEntry {
  name: string;
  /** One line, for the list of commands. */
  summary: string;
  /** Heading of the command in the list of commands. */
  group: "Set up" | "Work" | "Look" | "Operate" | "Other";
  aliases?: string[];
  /** Whether only the `punctual` program has the command; mount() leaves it out. */
  alone?: boolean;
  /** Imports the module, once the command is called: loading all of them would delay `punctual --help`. */
  load(): Promise<CommandSetup>;
}

/** Every command, in the order of the help. */
export const commands: CommandEntry[] = [
  {
    name: "init",
    summary: "write a config and a first job",
    group: "Set up",
    alone: true,
    load: async () => (await import("./commands/init/init.ts")).default,
  },
  {
    name: "install",
    summary: "create the tables, or bring them up to date",
    group: "Set up",
    aliases: ["migrate"],
    load: async () => (await import("./commands/install.ts")).default,
  },
  {
    name: "work",
    summary: "run due jobs until stopped",
    group: "Work",
    load: async () => (await import("./commands/work/work.ts")).default,
  },
  {
    name: "collect",
    summary: "run the jobs that are due now, then exit",
    group: "Work",
    load: async () => (await import("./commands/collect/collect.ts")).default,
  },
  {
    name: "dispatch",
    summary: "dispatch a run of a job",
    group: "Work",
    load: async () => (await import("./commands/dispatch/dispatch.ts")).default,
  },
  {
    name: "status",
    summary: "every job with its last and next run, and its problems",
    group: "Look",
    load: async () => (await import("./commands/status/status.ts")).status,
  },
  {
    name: "top",
    summary: "status --watch",
    group: "Look",
    load: async () => (await import("./commands/status/status.ts")).top,
  },
  {
    name: "list",
    summary: "list runs, jobs, queues, workers, failures, mutes, schedules, batches, rates or actions",
    group: "Look",
    load: async () => (await import("./commands/list/list.ts")).default,
  },
  {
    name: "show",
    summary: "show one run, job or batch in detail, and why a run waits",
    group: "Look",
    load: async () => (await import("./commands/show/show.ts")).default,
  },
  {
    name: "batches",
    summary: "list batches with their progress",
    group: "Look",
    load: async () => (await import("./commands/batches/batches.ts")).batches,
  },
  {
    name: "rates",
    summary: "list rates, how much of each is spent, and when it opens",
    group: "Look",
    load: async () => (await import("./commands/rates/rates.ts")).default,
  },
  {
    name: "schedule",
    summary: "list schedules, show their next ticks, run one now",
    group: "Look",
    load: async () => (await import("./commands/schedule/schedule.ts")).default,
  },
  {
    name: "doctor",
    summary: "find problems and suggest fixes",
    group: "Look",
    load: async () => (await import("./commands/doctor/doctor.ts")).default,
  },
  {
    name: "verify",
    summary: "check that no run is lost, doubled or over a limit",
    group: "Look",
    load: async () => (await import("./commands/verify.ts")).default,
  },
  {
    name: "dashboard",
    summary: "serve the web dashboard on this machine",
    group: "Look",
    load: async () => (await import("./commands/dashboard/dashboard.ts")).default,
  },
  {
    name: "retry",
    summary: "retry finished runs",
    group: "Operate",
    load: async () => (await import("./commands/runs/retry.ts")).default,
  },
  {
    name: "cancel",
    summary: "cancel waiting runs, and abort running ones",
    group: "Operate",
    load: async () => (await import("./commands/runs/cancel.ts")).default,
  },
  {
    name: "delete",
    summary: "delete runs with their attempts and logs",
    group: "Operate",
    load: async () => (await import("./commands/runs/delete.ts")).default,
  },
  {
    name: "batch",
    summary: "seal, cancel or retry a batch",
    group: "Operate",
    load: async () => (await import("./commands/batches/batches.ts")).batch,
  },
  {
    name: "pause",
    summary: "pause queues, jobs, schedules or workers",
    group: "Operate",
    load: async () => (await import("./commands/pause/pause.ts")).pause,
  },
  {
    name: "resume",
    summary: "resume queues, jobs, schedules or workers",
    group: "Operate",
    load: async () => (await import("./commands/pause/pause.ts")).resume,
  },
  {
    name: "stop",
    summary: "stop workers: they finish their runs and end",
    group: "Operate",
    load: async () => (await import("./commands/workers/stop.ts")).default,
  },
  {
    name: "mute",
    summary: "mute a group of failures",
    group: "Operate",
    load: async () => (await import("./commands/mute/mute.ts")).mute,
  },
  {
    name: "unmute",
    summary: "end the mute of a group of failures",
    group: "Operate",
    load: async () => (await import("./commands/mute/mute.ts")).unmute,
  },
  {
    name: "reopen",
    summary: "reopen rates that handlers have slowed down",
    group: "Operate",
    load: async () => (await import("./commands/reopen/reopen.ts")).default,
  },
  {
    name: "prune",
    summary: "delete expired history and unused jobs",
    group: "Operate",
    load: async () => (await import("./commands/prune/prune.ts")).default,
  },
  {
    name: "completion",
    summary: "print a shell completion script",
    group: "Other",
    alone: true,
    load: async () => (await import("./commands/completion/completion.ts")).default,
  },
];

/** Adds every command to a program. The module of a command is loaded when the command is called. */
export function addCommands(program: Command, cli: Cli, mounted = false): void {
  const loading = new Map<Command, () => Promise<void>>();
  for (const { name, summary, group, aliases = [], alone, load } of commands) {
    if (alone && mounted) continue;
    const command = program
      .command(name)
      .summary(summary)
      .description(sentence(summary))
      .helpGroup(`${group}:`);
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

/** The description of a command that sets none. */
function sentence(summary: string): string {
  return `${summary[0]!.toUpperCase()}${summary.slice(1)}.`;
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
