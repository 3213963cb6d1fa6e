import { availableParallelism } from "node:os";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // While a test waits for its server, another one can go on.
    maxWorkers: Math.max(2, availableParallelism()),
    globalSetup: ["test/servers/global.ts"],
    // Process tests wait for real leases and signals.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

export default config;
