import type { Command } from "commander";
import type { Cli } from "./cli.ts";

/** The module of a command: adds the arguments, the options and the action to it. */
export interface CommandModule {
  default(command: Command, cli: Cli): void;
}

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
  load(): Promise<CommandModule>;
}

/** Every command, in the order of the help. */
export const commands: CommandEntry[] = [
  {
    name: "init",
    summary: "write a config and a first job",
    group: "Set up",
    alone: true,
    load: () => import("./commands/init/init.ts"),
  },
  {
    name: "install",
    summary: "create the tables, or bring them up to date",
    group: "Set up",
    aliases: ["migrate"],
    load: () => import("./commands/install.ts"),
  },
  {
    name: "work",
    summary: "run due jobs until stopped",
    group: "Work",
    load: () => import("./commands/work/work.ts"),
  },
  {
    name: "collect",
    summary: "run the jobs that are due now, then exit",
    group: "Work",
    load: () => import("./commands/collect/collect.ts"),
  },
  {
    name: "dispatch",
    summary: "dispatch a run of a job",
    group: "Work",
    load: () => import("./commands/dispatch/dispatch.ts"),
  },
  {
    name: "status",
    summary: "every job with its last and next run, and its problems",
    group: "Look",
    load: () => import("./commands/status/status.ts"),
  },
  {
    name: "top",
    summary: "status --watch",
    group: "Look",
    load: () => import("./commands/status/top.ts"),
  },
  {
    name: "list",
    summary: "list runs, jobs, queues, workers, failures or schedules",
    group: "Look",
    load: () => import("./commands/list/list.ts"),
  },
  {
    name: "show",
    summary: "show one run or one job in detail, and why it waits",
    group: "Look",
    load: () => import("./commands/show/show.ts"),
  },
  {
    name: "schedule",
    summary: "list schedules, show their next ticks, run one now",
    group: "Look",
    load: () => import("./commands/schedule/schedule.ts"),
  },
  {
    name: "doctor",
    summary: "find problems and suggest fixes",
    group: "Look",
    load: () => import("./commands/doctor/doctor.ts"),
  },
  {
    name: "retry",
    summary: "retry finished runs",
    group: "Operate",
    load: () => import("./commands/runs/retry.ts"),
  },
  {
    name: "cancel",
    summary: "cancel waiting runs, and abort running ones",
    group: "Operate",
    load: () => import("./commands/runs/cancel.ts"),
  },
  {
    name: "delete",
    summary: "delete runs with their attempts and logs",
    group: "Operate",
    load: () => import("./commands/runs/delete.ts"),
  },
  {
    name: "pause",
    summary: "pause queues, jobs or schedules",
    group: "Operate",
    load: () => import("./commands/pause/pause.ts"),
  },
  {
    name: "resume",
    summary: "resume queues, jobs or schedules",
    group: "Operate",
    load: () => import("./commands/pause/resume.ts"),
  },
  {
    name: "prune",
    summary: "delete expired history and unused jobs",
    group: "Operate",
    load: () => import("./commands/prune/prune.ts"),
  },
  {
    name: "completion",
    summary: "print a shell completion script",
    group: "Other",
    alone: true,
    load: () => import("./commands/completion/completion.ts"),
  },
];
