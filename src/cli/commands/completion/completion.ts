import { Argument, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { scripts } from "./scripts.ts";

export default function completion(command: Command, { output }: Cli): void {
  command
    .description("Print a script that completes commands, options, jobs and queues in your shell.")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(scripts)))
    .addHelpText(
      "after",
      "\nTo try it in bash: source <(punctual completion bash). Its first lines tell how to install it.",
    )
    .action((shell: string) => {
      output.stdout.write(scripts[shell]!);
    });
}
