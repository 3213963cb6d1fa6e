import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take minutes start first: at the end one of them alone would leave the other cores idle. */
const LONGEST = ["mysql", "mariadb", "postgres"].map((name) => `test/conformance/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // Many tests wait for servers, leases and signals: one file more than cores keeps the cores busy.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    // Tests start hundreds of processes from sources, which are stripped of their types once.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url)) },
    globalSetup: ["test/servers/global.ts"],
    // Process tests wait for real leases and signals.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Polls of a page or of a database may wait for a busy machine; a poll that succeeds takes no longer.
    expect: { poll: { timeout: 15_000 } },
    // Only scenes that chance did not set up: see test/support/came-about.ts.
    retry: { count: 3, condition: /^the scene did not come about/ },
  },
});

export default config;
