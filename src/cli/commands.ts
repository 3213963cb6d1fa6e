import type { Command } from "commander";
import type { Cli } from "./cli.ts";

/** A command's file: adds its arguments and options, and says what it does. */
export interface CommandModule {
  default(command: Command, cli: Cli): void;
}

export interface CommandEntry {
  name: string;
  /** One line, for the list of commands. */
  summary: string;
  /** Its help stands under this heading. */
  group: "Set up" | "Work" | "Look" | "Operate" | "Other";
  aliases?: string[];
  /** Makes sense for the `punctual` program only, not where it is mounted. */
  alone?: boolean;
  /** Loaded when it is called: the list of commands must not wait for all of them. */
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
    summary: "run what comes due, until it is told to stop",
    group: "Work",
    load: () => import("./commands/work/work.ts"),
  },
  {
    name: "collect",
    summary: "run what is due now, and end",
    group: "Work",
    load: () => import("./commands/collect/collect.ts"),
  },
  {
    name: "dispatch",
    summary: "ask for a run of a job",
    group: "Work",
    load: () => import("./commands/dispatch/dispatch.ts"),
  },
  {
    name: "status",
    summary: "every job: when it ran, when it runs, what is wrong",
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
    summary: "runs, jobs, queues, workers, failures or schedules",
    group: "Look",
    load: () => import("./commands/list/list.ts"),
  },
  {
    name: "show",
    summary: "all about one run or one job, and why it is where it is",
    group: "Look",
    load: () => import("./commands/show/show.ts"),
  },
  {
    name: "schedule",
    summary: "list schedules, tell their next ticks, run one now",
    group: "Look",
    load: () => import("./commands/schedule/schedule.ts"),
  },
  {
    name: "doctor",
    summary: "look for what is wrong, and say what mends it",
    group: "Look",
    load: () => import("./commands/doctor/doctor.ts"),
  },
  {
    name: "retry",
    summary: "run finished runs once more",
    group: "Operate",
    load: () => import("./commands/runs/retry.ts"),
  },
  {
    name: "cancel",
    summary: "withdraw waiting runs, ask running ones to stop",
    group: "Operate",
    load: () => import("./commands/runs/cancel.ts"),
  },
  {
    name: "delete",
    summary: "delete runs with all that is kept of them",
    group: "Operate",
    load: () => import("./commands/runs/delete.ts"),
  },
  {
    name: "pause",
    summary: "let queues, jobs or schedules rest",
    group: "Operate",
    load: () => import("./commands/pause/pause.ts"),
  },
  {
    name: "resume",
    summary: "let them go on",
    group: "Operate",
    load: () => import("./commands/pause/resume.ts"),
  },
  {
    name: "prune",
    summary: "delete what is no longer kept",
    group: "Operate",
    load: () => import("./commands/prune/prune.ts"),
  },
  {
    name: "completion",
    summary: "a script that completes commands and names in your shell",
    group: "Other",
    alone: true,
    load: () => import("./commands/completion/completion.ts"),
  },
];
