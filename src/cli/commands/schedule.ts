import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addList } from "../schedule/list.ts";
import { addNext } from "../schedule/next.ts";
import { addRun } from "../schedule/run.ts";

export default function schedule(command: Command, cli: Cli): void {
  addList(command.command("list"), cli);
  addNext(command.command("next"), cli);
  addRun(command.command("run"), cli);
}
