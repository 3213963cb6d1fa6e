#!/usr/bin/env node
export {};

// A dynamic import, before all others: an old Node cannot even parse the other files.
try {
  await import("../node-version.ts");
} catch (error) {
  console.error(`punctual: ${(error as Error).message} (NODE_TOO_OLD)`);
  process.exit(1);
}

// The shell asks for completions. This is not a command, because commander would parse the words as options.
if (process.argv[2] === "__complete") {
  const { complete } = await import("./commands/completion/complete.ts");
  await complete(process.argv.slice(3));
} else {
  if (process.argv.includes("work")) {
    // Before the other files are loaded, because the restart loads them again.
    const { restartWithYoungGeneration } = await import("../supervisor/young-generation.ts");
    restartWithYoungGeneration();
  }
  const { main } = await import("./start.ts");
  await main(process.argv);
}
