// The types as other packages get them: a worker's package is compiled to declarations, a producer is checked by these.
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../docs/support/markdown.ts";

const folder = mkdtempSync(join(tmpdir(), "punctual-types-"));
const packages = join(folder, "node_modules");

const WORKER = `import { Job, Punctual } from "punctual";

class Resize {
  static handle(args: { id: number }): string {
    return String(args.id);
  }
}

export const jobs = new Punctual("sqlite::memory:");
export const email = jobs.define("email", async (args: { to: string }) => ({ accepted: args.to.length > 0 })).attempts(3);
export const resize = jobs.define("resize", Resize).queue("images");
export const later = email.delay(60).queue("bulk");
export const report = Job.define("report", (args: { day?: number }) => args.day ?? 1).daily();
export const catalog = jobs.catalog({ email, resize, report });
export const send = (to: string) => jobs.dispatch("email", { to });
export const upload = () => jobs.dispatch("upload", async () => 5);
`;

const PRODUCER = `import { type Definition, type Dispatchable, Punctual } from "punctual";
import type { catalog, email } from "shop-jobs";

const jobs = new Punctual<typeof catalog>("sqlite::memory:");
const run = await jobs.dispatch("email", { to: "ada" });
export const accepted: boolean = (await run.wait()).accepted;
export const size: string = await (await jobs.dispatch("resize", { id: 1 })).wait();
await jobs.dispatch("report");
export type Email = typeof email extends Definition<{ to: string }> ? Dispatchable<{ to: string }> : never;
// @ts-expect-error: an unknown name
jobs.dispatch("emial", { to: "ada" });
// @ts-expect-error: a wrong payload
jobs.dispatch("email", { to: 5 });
// @ts-expect-error: a missing payload
jobs.dispatch("resize");
`;

function tsc(...args: string[]): string {
  const program = join(root, "node_modules/typescript/bin/tsc");
  return spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: "utf8" }).stdout;
}

/** Compiles one file as most programs do, with every declaration of the package checked as well. */
const compile = (file: string, ...flags: string[]) => {
  const target = ["--target", "es2023", "--module", "nodenext", "--types", "node"];
  return tsc("--ignoreConfig", "--strict", "--skipLibCheck", "false", ...target, ...flags, file);
};

beforeAll(() => {
  for (const name of ["@types", "commander"]) {
    mkdirSync(packages, { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(packages, name));
  }
  mkdirSync(join(packages, "punctual"));
  copyFileSync(join(root, "package.json"), join(packages, "punctual/package.json"));
  const built = tsc("-p", join(root, "tsconfig.build.json"), "--outDir", join(packages, "punctual/dist"));
  expect(built).toBe("");
  mkdirSync(join(packages, "shop-jobs"));
  const manifest = { name: "shop-jobs", type: "module", types: "./index.d.ts", exports: "./index.js" };
  writeFileSync(join(packages, "shop-jobs/package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "index.ts"), WORKER);
  writeFileSync(join(folder, "producer.ts"), PRODUCER);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a worker's package compiles to declarations that type-check a producer in another package", () => {
  const declarations = ["--declaration", "--outDir", join(packages, "shop-jobs")];
  expect(compile("index.ts", ...declarations)).toBe("");
  const catalog = readFileSync(join(packages, "shop-jobs/index.d.ts"), "utf8");
  expect(catalog).toMatch(/export declare const catalog: import\("punctual"\)\.Catalog<\{/);
  expect(compile("producer.ts", "--noEmit")).toBe("");
  expect(compile("producer.ts", "--noEmit", "--exactOptionalPropertyTypes")).toBe("");
});
