import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** Every text file in git that people read, as paths from the project's root. */
export const everyTextFile: string[] = execFileSync(
  "git",
  ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
  {
    cwd: root,
    encoding: "utf8",
  },
)
  .split("\0")
  .filter((file) => /\.(ts|tsx|css|mjs|md|sql|yaml)$|^\.ci\/run$/.test(file));
