import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { dirname, extname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { plain } from "../output/output.ts";
import { nameOfFile } from "./find-files.ts";

/** Why a file could not be loaded, and what to do. */
export interface LoadProblem {
  /** The file of the error; null: the job file itself. */
  file: string | null;
  line: number | null;
  message: string;
  code: string | null;
}

const TSX = "or start with: node --import tsx node_modules/.bin/punctual …";

/** Syntax that Node cannot strip, and its replacement. */
const CONSTRUCTS: [RegExp, string, string][] = [
  [/enum/, "enum", "Use a const object"],
  [/parameter property/, "A parameter property", "Declare the field and set it in the constructor"],
  [/namespace|module declaration/, "namespace", "Use a module of its own"],
  [/import =|import equals|export =/, "import … = and export =", "Use import … from and export default"],
  [/decorator/, "A decorator", "Call the function yourself"],
];

const GLOBALS: Record<string, string> = {
  require: "Use import, or createRequire(import.meta.url)",
  module: "Use export",
  exports: "Use export",
  __dirname: "Use import.meta.dirname",
  __filename: "Use import.meta.filename",
};

export function diagnose(error: unknown, file: string): LoadProblem {
  if (typeof error !== "object" || error === null || !("message" in error)) {
    return {
      file: null,
      line: null,
      message: `The file threw ${shortly(String(error))} while it was loaded.`,
      code: null,
    };
  }
  const { code = null, message, stack = "" } = error as { code?: string; message: string; stack?: string };
  const frame = firstUserFrame(String(stack), file);
  return {
    ...frame,
    ...(known(error as Error, String(message), code, frame.file ?? file) ?? thrown(error as Error, code)),
  };
}

type Diagnosis = Partial<LoadProblem> & Pick<LoadProblem, "message" | "code">;

function known(error: Error, message: string, code: string | null, file: string): Diagnosis | null {
  switch (code) {
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX": {
      const construct = CONSTRUCTS.find(([pattern]) => pattern.test(message));
      const what = construct?.[1] ?? shortly(message);
      const cure = construct?.[2] ?? "Rewrite it";
      return { message: `${what} is not supported when Node strips types. ${cure}, ${TSX}`, code };
    }
    case "ERR_INVALID_TYPESCRIPT_SYNTAX":
      return { message: `Syntax error: ${shortly(message)}.`, code };
    case "ERR_MODULE_NOT_FOUND":
      return { ...missing(error, message), code };
    case "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING":
      return {
        message: `Node does not load TypeScript from node_modules. Import the compiled JavaScript, ${TSX}`,
        code,
      };
    case "ERR_IMPORT_ATTRIBUTE_MISSING":
      return {
        message: 'Import JSON with its type: import data from "./data.json" with { type: "json" }.',
        code,
      };
    case "ERR_UNKNOWN_FILE_EXTENSION":
      return {
        message: `Node cannot load ${extname(file) || "such"} files. Use .ts, .mts, .js or .mjs, ${TSX}`,
        code,
      };
  }
  if (error.name === "SyntaxError") return syntax(message, file);
  const global = /^(\w+) is not defined/.exec(message)?.[1];
  if (global !== undefined && Object.hasOwn(GLOBALS, global)) {
    return { message: `There is no ${global} in an ES module. ${GLOBALS[global]}.`, code: null };
  }
  return null;
}

function missing(error: Error, message: string): Omit<Diagnosis, "code"> {
  const importer = / imported from ([^\n]+)/.exec(message)?.[1];
  const from = importer === undefined ? {} : { file: importer, line: lineOfImport(importer, message) };
  const name = /Cannot find package '([^']+)'/.exec(message)?.[1];
  if (name !== undefined) {
    return { ...from, message: `The package "${name}" is not installed. Run: npm install ${name}` };
  }
  const url = (error as { url?: string }).url;
  const path = url?.startsWith("file:") ? fileURLToPath(url) : null;
  if (path === null) return { ...from, message: shortly(message) };
  const bare = path.replace(/\.[cm]?js$/, "");
  const meant = [".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.js"].find((ending) =>
    existsSync(bare + ending),
  );
  return {
    ...from,
    message: meant
      ? `The file imports ${nameOfFile(path)}, which does not exist; ${nameOfFile(bare + meant)} does. Node needs the exact ending: write "…${meant}".`
      : `The file imports ${nameOfFile(path)}, which does not exist.`,
  };
}

function syntax(message: string, file: string): Diagnosis {
  const name = /does not provide an export named '([^']+)'/.exec(message)?.[1];
  if (name !== undefined) {
    return {
      message: `${shortly(message)}. If ${name} is a type, write: import type { ${name} }.`,
      code: null,
    };
  }
  if (/Cannot use import statement|Unexpected token 'export'/.test(message)) {
    return {
      message:
        'The file is an ES module in a CommonJS package. Set "type": "module" in package.json, or rename the file to .mts or .mjs.',
      code: null,
    };
  }
  const line = lineByCheck(file);
  const text = readLine(file, line);
  if (/^\s*(export\s+(default\s+)?)?@\w/.test(text)) {
    return {
      line,
      message: `A decorator is not supported by Node. Call the function yourself, ${TSX}`,
      code: null,
    };
  }
  return { ...(line !== null && { line }), message: `Syntax error: ${shortly(message)}.`, code: null };
}

function thrown(error: Error, code: string | null): Diagnosis {
  const what = shortly(`${error.name || "Error"}: ${error.message}`);
  return {
    message: `The file threw while it was loaded: ${what}`,
    code: typeof code === "string" ? code : null,
  };
}

const shortly = (text: string) => {
  const line = plain(text.split("\n")[0] ?? "").trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
};

/** Returns the first frame of a stack trace in the user's code, not in Node's or this package's. */
function firstUserFrame(stack: string, file: string): { file: string | null; line: number | null } {
  const ours = dirname(dirname(import.meta.dirname));
  for (const line of stack.split("\n")) {
    const found =
      /(?:^|\(|at |at async )(file:\/\/[^\s)]+?|\/[^\s):]+|[A-Za-z]:\\[^\s):]+):(\d+)(?::\d+)?\)?$/.exec(
        line.trim(),
      );
    if (!found) continue;
    const path = found[1]!.startsWith("file:") ? fileURLToPath(found[1]!.split("?")[0]!) : resolve(found[1]!);
    if ((path.startsWith(ours) || /[\\/]node_modules[\\/]punctual[\\/]/.test(path)) && path !== file)
      continue;
    return { file: path, line: Number(found[2]) };
  }
  return { file: null, line: null };
}

/** Returns the line of a syntax error. Node reports it only for `--check`, which does not accept types. */
function lineByCheck(file: string): number | null {
  // Read from the namespace object: Bun has no such export, and does not load a file that imports it by name.
  const { stripTypeScriptTypes } = nodeModule;
  if (typeof stripTypeScriptTypes !== "function") return null;
  try {
    const text = readFileSync(file, "utf8");
    const input = /\.[cm]?ts$/.test(file) ? stripTypeScriptTypes(text) : text;
    const { stderr } = spawnSync(process.execPath, ["--check", "--input-type=module", "-"], {
      input,
      encoding: "utf8",
      timeout: 5000,
    });
    const line = /^\S+:(\d+)\n/m.exec(stderr)?.[1];
    return line === undefined ? null : Number(line);
  } catch {
    return null;
  }
}

function readLine(file: string, line: number | null): string {
  try {
    return line === null ? "" : (readFileSync(file, "utf8").split("\n")[line - 1] ?? "");
  } catch {
    return "";
  }
}

function lineOfImport(file: string, message: string): number | null {
  const name = /Cannot find (?:package|module) '([^']+)'/.exec(message)?.[1];
  if (name === undefined) return null;
  const last = name.split(/[\\/]/).at(-1)!;
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    const at = lines.findIndex((line) => /\b(from|import)\b/.test(line) && line.includes(last));
    return at < 0 ? null : at + 1;
  } catch {
    return null;
  }
}

/** `jobs/a.ts:3  The package "x" is not installed. Run: npm install x  (CODE)` */
export function problemLine(file: string, problem: LoadProblem): string {
  const elsewhere = problem.file !== null && nameOfFile(problem.file) !== nameOfFile(file);
  const name = nameOfFile(problem.file ?? file);
  const at = problem.line === null ? name : `${name}:${problem.line}`;
  const by = elsewhere ? `  (loaded by ${nameOfFile(file)})` : "";
  const code = problem.code === null ? "" : `  (${problem.code})`;
  return plain(`${at}  ${problem.message}${code}${by}`);
}
