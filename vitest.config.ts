import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // Process tests wait for real leases and signals.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
