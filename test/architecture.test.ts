import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseSync } from "vite";
import { describe, expect, test } from "vitest";

const source = resolve(import.meta.dirname, "../src");

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(source, join(entry.parentPath, entry.name)));
}

const files = filesBelow(source);

const text = (file: string) => readFileSync(join(source, file), "utf8");

/** Relative imports and re-exports of a file, as paths below src. Imports of types count too. */
function importsOf(file: string): string[] {
  const found = text(file).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...found].map(([, path]) => relative(source, resolve(source, dirname(file), path!)));
}

/** Files and folders that each room may import beside itself. A file named here is open without its room's rest. */
const PURE = [
  "time.ts",
  "errors.ts",
  "random.ts",
  "backoff.ts",
  "bisect.ts",
  "run/states.ts",
  "run/lanes.ts",
  "run/chains.ts",
  "run/rotation.ts",
];
const CONTRACT = [
  "store/store.ts",
  "store/batches.ts",
  "store/records.ts",
  "store/operator-records.ts",
  "store/worker-records.ts",
  "store/job-errors.ts",
  "store/limit-records.ts",
  "store/reads.ts",
  "store/runs.ts",
  "store/maintenance.ts",
  "store/search.ts",
  "store/definitions.ts",
  "store/queue-selection.ts",
  "store/pending-calls.ts",
  "store/rollups.ts",
  "store/invariants.ts",
  "store/rate.ts",
  "store/stored-limits.ts",
];

/** Parts of a claim under limits that databases share. */
const CLAIM = [
  "store/chooser.ts",
  "store/chains.ts",
  "store/fair-lanes.ts",
  "store/quiet-looks.ts",
  "store/rate-spending.ts",
];

/** Rooms that the code of each database server may use. */
const SERVER = [...CONTRACT, "store/sql/", "store/server/", "store/open.ts", "validate/names.ts"];
const ROOMS: Record<string, string[]> = {
  "errors.ts": [],
  "time.ts": ["errors.ts"],
  "node-version.ts": ["errors.ts"],
  "random.ts": [],
  "backoff.ts": [],
  "bisect.ts": [],
  "validate/": [],
  "events/": ["run/failure.ts"],
  "store/queue-selection.ts": [],
  "store/worker-records.ts": ["store/queue-selection.ts"],
  "store/operator-records.ts": [],
  "store/job-errors.ts": [],
  "store/limit-records.ts": ["store/rate.ts"],
  "store/records.ts": [
    "store/job-errors.ts",
    "store/worker-records.ts",
    "store/operator-records.ts",
    "store/limit-records.ts",
    "store/rate.ts",
    "store/stored-limits.ts",
  ],
  "store/maintenance.ts": [],
  "store/runs.ts": ["store/job-errors.ts", "store/records.ts", "store/queue-selection.ts"],
  "store/batches.ts": ["store/runs.ts"],
  "store/search.ts": ["store/records.ts"],
  "store/definitions.ts": ["store/records.ts", "store/rate.ts"],
  "store/reads.ts": [
    "store/batches.ts",
    "store/invariants.ts",
    "store/records.ts",
    "store/rollups.ts",
    "store/search.ts",
  ],
  "store/store.ts": [
    "store/batches.ts",
    "store/records.ts",
    "store/reads.ts",
    "store/runs.ts",
    "store/maintenance.ts",
    "store/search.ts",
    "store/definitions.ts",
    "store/queue-selection.ts",
    "store/rollups.ts",
  ],
  "store/pending-calls.ts": [],
  "store/rollups.ts": [],
  "store/invariants.ts": [],
  "store/rate.ts": [],
  "store/stored-limits.ts": ["store/rate.ts"],
  "store/chooser.ts": ["store/rate.ts"],
  "store/rate-spending.ts": ["store/chooser.ts", "store/rate.ts"],
  "store/quiet-looks.ts": ["store/chooser.ts", "store/store.ts"],
  "store/fair-lanes.ts": [],
  "store/chains.ts": [...CONTRACT, "store/chooser.ts"],
  "store/open.ts": [
    "store/store.ts",
    "store/pending-calls.ts",
    "store/sqlite/open.ts",
    "store/postgres/open.ts",
    "store/postgres/driver.ts",
    "store/postgres/url.ts",
    "store/mysql/open.ts",
    "store/mysql/driver.ts",
  ],
  "store/lazy.ts": ["store/store.ts", "store/maintenance.ts", "store/open.ts", "store/pending-calls.ts"],
  "store/sql/": [
    ...CONTRACT,
    "store/chains.ts",
    "store/chooser.ts",
    "store/quiet-looks.ts",
    "store/rate-spending.ts",
    "run/failure.ts",
    "run/redact.ts",
  ],
  "store/sqlite/": [...CONTRACT, ...CLAIM, "store/sql/", "store/open.ts"],
  "store/server/": [...CONTRACT, ...CLAIM, "store/sql/"],
  "store/postgres/": SERVER,
  "store/mysql/": SERVER,
  "schedule/": [...CONTRACT],
  "query/": [...CONTRACT, "validate/names.ts", "schedule/zones.ts"],
  "run/": [...CONTRACT, "validate/"],
  "dispatch/": [...CONTRACT, "run/", "validate/", "events/"],
  "status/": [...CONTRACT, "run/", "validate/"],
  "operate/": [...CONTRACT, "run/", "status/", "validate/", "events/", "query/"],
  "job/": [...CONTRACT, "run/", "dispatch/", "validate/", "schedule/"],
  "worker/": [...CONTRACT, "job/", "run/", "validate/", "events/", "schedule/"],
  "metrics/": [
    "events/",
    "status/rates.ts",
    "status/report.ts",
    "store/maintenance.ts",
    "store/rollups.ts",
    "supervisor/child-identity.ts",
    "version.ts",
  ],
  "dashboard/": ["punctual.ts"],
  "dashboard/server/": [
    "punctual.ts",
    "dashboard/api/api.ts",
    "dashboard/api/contract.ts",
    "dashboard/api/contract/",
    "dashboard/segment.ts",
    "events/logger.ts",
    "metrics/database-metrics.ts",
    "metrics/listen.ts",
    "metrics/probe.ts",
    "metrics/process-metrics.ts",
    "metrics/prometheus.ts",
    "run/redaction.ts",
    "supervisor/child-identity.ts",
    "validate/",
    "version.ts",
  ],
  "dashboard/api/": [
    ...CONTRACT,
    "punctual.ts",
    "dashboard/server/route.ts",
    "dashboard/server/problem.ts",
    "dashboard/segment.ts",
    "events/",
    "job/",
    "operate/",
    "query/",
    "run/",
    "schedule/",
    "status/",
    "validate/",
    "version.ts",
  ],
  "cli/": [
    "punctual.ts",
    "database-choice.ts",
    "config.ts",
    "config-file.ts",
    "dashboard/index.ts",
    "dashboard/server/standalone.ts",
    "engine.ts",
    "job-file-loader.ts",
    "metrics/",
    "options.ts",
    "node-version.ts",
    "version.ts",
    "job/",
    "query/terms.ts",
    "run/",
    "dispatch/",
    "operate/",
    "status/",
    "validate/",
    "schedule/",
    "events/",
    "worker/",
    "store/open.ts",
    "store/maintenance.ts",
    "store/invariants.ts",
    "store/store.ts",
    "store/records.ts",
    "store/queue-selection.ts",
    "store/worker-records.ts",
    "supervisor/child-identity.ts",
    "supervisor/young-generation.ts",
  ],
  "supervisor/": [...CONTRACT, "job/", "run/", "validate/", "worker/", "events/", "schedule/"],
  "testing/": ["punctual.ts", "run/", "validate/"],
  "jobs.ts": ["engine.ts", "job-file-loader.ts", "job/", "run/", "dispatch/", "operate/", "validate/"],
  "punctual.ts": [
    "engine.ts",
    "jobs.ts",
    "job-file-loader.ts",
    "options.ts",
    "job/",
    "run/",
    "dispatch/",
    "operate/",
    "validate/",
    "worker/",
    "supervisor/",
    "events/",
    "schedule/",
    "store/maintenance.ts",
    "store/store.ts",
    "store/open.ts",
  ],
  "engine.ts": [
    "database-choice.ts",
    "job-file-loader.ts",
    "options.ts",
    "version.ts",
    "job/",
    "run/",
    "dispatch/",
    "validate/",
    "worker/",
    "supervisor/",
    "events/",
    "store/lazy.ts",
    "store/open.ts",
  ],
  "job-file-loader.ts": [
    "database-choice.ts",
    "config.ts",
    "config-file.ts",
    "engine.ts",
    "options.ts",
    "version.ts",
    "job/",
    "validate/",
    "store/open.ts",
  ],
  "version.ts": [],
  "database-choice.ts": ["events/logger.ts", "store/open.ts"],
  "config.ts": ["options.ts", "job/", "run/", "validate/", "store/open.ts"],
  "config-file.ts": ["config.ts"],
  "options.ts": ["job/", "run/", "validate/", "events/"],
  "facade.ts": ["punctual.ts"],
  "index.ts": [""],
};

/** Functions, methods and types of functions with more parameters than this take an object of options instead. */
const MOST_PARAMETERS = 4;

/** The lines of a file with functions of more than `MOST_PARAMETERS`. */
function longSignatures(file: string, code: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (node === null || typeof node !== "object") return;
    const { params, start } = node as { params?: unknown; start?: number };
    if (Array.isArray(params) && params.length > MOST_PARAMETERS)
      found.push(`${file}:${code.slice(0, start).split("\n").length} (${params.length})`);
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(file, code).program);
  return found;
}

function roomOf(file: string): string | undefined {
  return Object.keys(ROOMS)
    .filter((room) => file === room || (room.endsWith("/") && file.startsWith(room)))
    .sort((a, b) => b.length - a.length)[0];
}

function forbidden(file: string, imported: string[]): string[] {
  const room = roomOf(file)!;
  const own = room.endsWith("/") ? [room] : [];
  const open = [...ROOMS[room]!, ...own, ...(PURE.includes(file) ? [] : PURE)];
  return imported.filter((path) => !open.some((allowed) => path === allowed || path.startsWith(allowed)));
}

describe("architecture", () => {
  test("every file is in a room", () => {
    expect(files.filter((file) => !roomOf(file))).toEqual([]);
  });

  test.each(files)("%s imports only the files that its room allows", (file) => {
    expect(forbidden(file, importsOf(file))).toEqual([]);
  });

  test("the check catches a wrong import", () => {
    expect(forbidden("store/sqlite/claim.ts", ["worker/worker.ts"])).toEqual(["worker/worker.ts"]);
    expect(forbidden("run/retries.ts", ["job/definition.ts"])).toEqual(["job/definition.ts"]);
    expect(forbidden("errors.ts", ["time.ts"])).toEqual(["time.ts"]);
  });

  test("only the command line loads the dashboard, and on demand", () => {
    const others = files.filter((file) => !file.startsWith("dashboard/"));
    const users = others.filter((file) => importsOf(file).some((path) => path.startsWith("dashboard/")));
    expect(users.toSorted()).toEqual(["cli/commands/dashboard/dashboard.ts", "cli/commands/work/work.ts"]);
    const eager = /^(import|export) (?!type\b)[^;]*from "[^"]*\/dashboard\/(index|server\/[^"]*)\.ts"/m;
    expect(users.filter((file) => eager.test(text(file)))).toEqual([]);
  });

  test("time comes from the clock alone", () => {
    const clocks = /\b(Date\.now|performance\.now|setTimeout|setInterval|setImmediate)\b|new Date\(\)/;
    const allowed = ["time.ts", "testing/clock.ts"];
    expect(files.filter((file) => !allowed.includes(file) && clocks.test(text(file)))).toEqual([]);
  });

  test("random numbers come from the instance's source, or from realRandom()", () => {
    // The comment on `random` of options.ts names the default.
    const found = files.filter((file) => /\bMath\.random\b/.test(text(file).replace(/\/\*\*.*?\*\//gs, "")));
    expect(found).toEqual(["random.ts"]);
  });

  test("real random numbers go with real time: the store waits in real time, the rest by the clock", () => {
    const users = files.filter((file) => /\brealRandom\b/.test(text(file)) && !file.startsWith("store/"));
    // The default of `random`, and of the function that applies it.
    expect(users.sort()).toEqual(["engine.ts", "random.ts", "run/retries.ts"]);
  });

  test("statements list values by placeholders() only, which bounds the list", () => {
    const placeholders = /=>\s*"\?"|fill\("\?"\)|repeat\([^)]*\)[^;]*"\?"/;
    const found = files.filter((file) => file.startsWith("store/") && placeholders.test(text(file)));
    expect(found).toEqual(["store/sql/database.ts"]);
  });

  test("no list of the user's is spread into arguments: a call takes some ten thousand at most", () => {
    const spread = /\.(push|unshift)\(\s*\.\.\.|Math\.(max|min)\(\s*\.\.\./;
    // Each of these spreads a page, a batch of one claim, or a list in the code itself. The command line prints pages.
    const bounded = [
      "status/health.ts",
      "status/why.ts",
      "schedule/plan.ts",
      "store/mysql/dialect.ts",
      "store/server/limits.ts",
      "store/sql/search.ts",
      "store/sqlite/claim.ts",
      "store/sqlite/limits.ts",
    ];
    expect(
      files.filter((file) => !file.startsWith("cli/") && spread.test(text(file)) && !bounded.includes(file)),
    ).toEqual([]);
  });

  test("no file is over 350 lines, and half are under 120", () => {
    const lines = files.map((file) => text(file).split("\n").length).sort((a, b) => a - b);
    expect(lines.at(-1)).toBeLessThanOrEqual(350);
    expect(lines[Math.floor(lines.length / 2)]).toBeLessThanOrEqual(120);
  });

  test("no function takes more than four parameters", () => {
    expect(files.flatMap((file) => longSignatures(file, text(file)))).toEqual([]);
  });

  test("the check of parameters catches functions, methods and types", () => {
    const code = `export function f(a, b, c, d, e) {}
      class C { m(a: 1, b: 2, c: 3, d: 4, e: 5) {} ok(a, b, c, d) {} }
      interface I { m(a: 1, b: 2, c: 3, d: 4, e: 5): void }
      const g = (a, b, c, d, { e }) => e;`;
    expect(longSignatures("a.ts", code)).toEqual(["a.ts:1 (5)", "a.ts:2 (5)", "a.ts:3 (5)", "a.ts:4 (5)"]);
  });

  test("no file has a meaningless name", () => {
    expect(files.filter((file) => /(^|\/)(utils?|helpers?|manager|types|common)\.ts$/.test(file))).toEqual(
      [],
    );
  });
});
