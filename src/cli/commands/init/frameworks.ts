import { existsSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { didYouMean } from "../../input/names.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { jobText, type Package } from "./files.ts";

/** Differences of `init` for one framework. */
export interface Framework {
  name: "next" | "nest" | "none";
  /** Default folder of the jobs. */
  dir: string;
  /** Ending of the config file, if it differs from the ending of the project's sources. */
  configEnding?: string;
  /** Returns the glob by which the worker finds the jobs of a folder. */
  jobs(dir: string, pattern: string): string;
  job(call: string): string;
  /** Returns further files to create, besides the config and the job. */
  files(dir: string): { file: string; text: string }[];
  /** The package script that must run before the worker; null: none. */
  build: string | null;
}

const none: Framework = {
  name: "none",
  dir: "jobs",
  jobs: (_, pattern) => pattern,
  job: jobText,
  files: () => [],
  build: null,
};

/** Routes of the application dispatch runs; the worker is a separate process. */
const next: Framework = {
  ...none,
  name: "next",
  files(dir) {
    // Next reads `src` only if `app` and `pages` are missing in the root.
    const within = !existsSync("app") && !existsSync("pages") && existsSync("src") ? "src" : "";
    const hasPagesOnly = existsSync(join(within, "pages")) && !existsSync(join(within, "app"));
    const file = hasPagesOnly ? join(within, "pages/api/hello.ts") : join(within, "app/api/hello/route.ts");
    const job = posix(relative(dirname(file), join(dir, "hello")));
    return [{ file, text: hasPagesOnly ? pageText(job) : routeText(job) }];
  },
};

/** Decorators must be compiled, so the worker loads the jobs that `nest build` compiled. */
const nest: Framework = {
  name: "nest",
  dir: "src/jobs",
  // Not .ts: compiled with the application, a config beside src would move the output from dist to dist/src.
  configEnding: "mjs",
  jobs(dir) {
    if (!/^src(\/|$)/.test(dir)) {
      throw new Exit(
        exitCodes.usage,
        `Nest compiles only the folder src: expected --dir such as src/jobs, got ${plain(dir)}.`,
      );
    }
    return `${dir.replace(/^src/, "dist")}/**/*.js`;
  },
  job: () => `import { Job } from "punctual";
import { nest } from "./_nest.js";

// Runs every ten seconds, and on demand: hello.dispatch({ name: "you" })
export const hello = Job.define("hello", async ({ name = "world" }: { name?: string }) => {
  await nest(); // resolves to the application: (await nest()).get(UserService)
  console.log(\`Hello, \${name}!\`);
}).everyTenSeconds();
`,
  files(dir) {
    if (!existsSync("src/app.module.ts")) {
      throw new Exit(
        exitCodes.usage,
        "Expected a Nest application here, but src/app.module.ts does not exist. Change to its folder, or pass --framework none.",
      );
    }
    const module = posix(relative(dir, "src/app.module.js"));
    return [{ file: join(dir, "_nest.ts"), text: nestText(module) }];
  },
  build: "build",
};

const FRAMEWORKS: Record<string, Framework> = { next, nest, none };

/** Returns the framework with this name; without a name, the one that the package depends on. */
export function frameworkNamed(name: string | undefined, manifest: Package): Framework {
  if (name === undefined) {
    const used = { ...manifest.dependencies, ...manifest.devDependencies };
    if (Object.hasOwn(used, "next")) return next;
    return Object.hasOwn(used, "@nestjs/core") && existsSync("src/app.module.ts") ? nest : none;
  }
  const framework = Object.hasOwn(FRAMEWORKS, name) ? FRAMEWORKS[name] : undefined;
  if (framework) return framework;
  const known = Object.keys(FRAMEWORKS);
  throw new Exit(
    exitCodes.usage,
    `init expected --framework ${known.join(", ")}, got ${plain(name)}.${didYouMean(name, known)} For all others: none.`,
  );
}

function posix(path: string): string {
  return path.replaceAll(sep, "/");
}

const DISPATCHING = "// Anybody can call this route: authorise the caller as in your other routes.";

function routeText(job: string): string {
  return `import { hello } from "${job}";

${DISPATCHING}
export async function POST(): Promise<Response> {
  const { id } = await hello.dispatch({ name: "Next" });
  return Response.json({ id }, { status: 202 });
}
`;
}

function pageText(job: string): string {
  return `import type { NextApiRequest, NextApiResponse } from "next";
import { hello } from "${job}";

${DISPATCHING}
export default async function handler(request: NextApiRequest, response: NextApiResponse): Promise<void> {
  if (request.method !== "POST") return response.status(405).end();
  const { id } = await hello.dispatch({ name: "Next" });
  response.status(202).json({ id });
}
`;
}

function nestText(module: string): string {
  return `import type { INestApplicationContext } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";

let context: Promise<INestApplicationContext> | undefined;

/** The application without its web server, shared by all jobs of this process; created on first use. */
export function nest(): Promise<INestApplicationContext> {
  // Imported on first use: providers may import jobs to dispatch them.
  context ??= import("${module}").then(({ AppModule }) => NestFactory.createApplicationContext(AppModule));
  return context;
}
`;
}
