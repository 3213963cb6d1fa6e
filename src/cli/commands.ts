import type { Command } from "commander";
import type { Cli } from "./cli.ts";

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
    summary: "list runs, jobs, queues, workers, failures or schedules",
    group: "Look",
    load: async () => (await import("./commands/list/list.ts")).default,
  },
  {
    name: "show",
    summary: "show one run or one job in detail, and why it waits",
    group: "Look",
    load: async () => (await import("./commands/show/show.ts")).default,
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
    name: "pause",
    summary: "pause queues, jobs or schedules",
    group: "Operate",
    load: async () => (await import("./commands/pause/pause.ts")).pause,
  },
  {
    name: "resume",
    summary: "resume queues, jobs or schedules",
    group: "Operate",
    load: async () => (await import("./commands/pause/pause.ts")).resume,
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
