import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addPausing } from "./pausing.ts";

export default function pause(command: Command, cli: Cli): void {
  addPausing(command, cli, true);
}
