import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addList } from "./list.ts";
import { addNext } from "./next.ts";
import { addRun } from "./run.ts";

export default function schedule(command: Command, cli: Cli): void {
  addList(command.command("list"), cli);
  addNext(command.command("next"), cli);
  addRun(command.command("run"), cli);
}
