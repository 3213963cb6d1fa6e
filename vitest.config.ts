import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    globalSetup: ["test/servers/global.ts"],
    // Process tests wait for real leases and signals.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

export default config;
