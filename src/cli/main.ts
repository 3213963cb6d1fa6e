#!/usr/bin/env node
export {};

// Loaded piece by piece: on a Node that is too old the rest could not even be read.
try {
  await import("../node-version.ts");
} catch (error) {
  console.error(`punctual: ${(error as Error).message} (NODE_TOO_OLD)`);
  process.exit(1);
}

// A request of the shell for completions. It is no command, because its words must not be parsed as options.
if (process.argv[2] === "__complete") {
  const { complete } = await import("./commands/completion/complete.ts");
  await complete(process.argv.slice(3));
} else {
  const { main } = await import("./start.ts");
  await main(process.argv);
}
