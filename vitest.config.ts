import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take minutes start first, the longest before the others: at the end one of them alone would leave the
 * other cores idle. Those of faults mostly wait, and stand beside files that keep a core busy.
 */
const LONGEST = [
  "conformance/mysql",
  "faults/stopping",
  "conformance/mariadb",
  "faults/outage",
  "conformance/postgres",
  "faults/batches",
  "dashboard/browser/pages",
  "faults/cut",
  "conformance/sqlite",
  "package/newcomer",
].map((name) => `test/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // Many tests wait for servers, leases and signals: two files more than cores keep the cores busy.
    maxWorkers: availableParallelism() + 2,
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
