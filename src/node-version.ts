import { PunctualError } from "./errors.ts";

const NEEDED = [22, 18] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  throw new PunctualError(
    "NODE_TOO_OLD",
    `Punctual needs Node ${NEEDED.join(".")} or newer, this is ${process.versions.node}. Update Node.`,
  );
}
