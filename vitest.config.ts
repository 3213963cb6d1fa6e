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

/**
 * Suites whose files share one process and its modules: without them, each of 175 files loads the sources again, which
 * is half of the CPU time of these suites. Their tests leave nothing behind in a process.
 */
const SHARED = ["unit", "api", "dashboard/unit", "dashboard/api", "dashboard/server"].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

const ALL = ["test/**/*.test.ts"];

/** Patterns of files that `npm test` leaves out of this run. Projects ignore `--exclude` of the command line. */
const LEFT_OUT = (process.env.PUNCTUAL_TEST_LEAVE_OUT ?? "").split(",").filter(Boolean);

const config: ViteUserConfig = defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: "shared process", include: SHARED, exclude: LEFT_OUT, isolate: false } },
      { extends: true, test: { name: "own process", include: ALL, exclude: [...SHARED, ...LEFT_OUT] } },
    ],
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
