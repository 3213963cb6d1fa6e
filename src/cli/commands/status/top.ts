import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import status from "./status.ts";

export default function top(command: Command, cli: Cli): void {
  status(command, cli);
  command.setOptionValueWithSource("watch", true, "default");
}
