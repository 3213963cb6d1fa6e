import type { Mutant } from "./mutant.ts";

const backoff = ["test/unit/backoff.test.ts", "test/unit/backoff-property.test.ts"];
const payload = ["test/unit/payload.test.ts", "test/unit/payload-property.test.ts"];

export const mutants: Mutant[] = [
  {
    rule: "The first retry waits for one base, not for two.",
    file: "src/backoff.ts",
    find: "Math.max(0, failures - 1)",
    replace: "Math.max(0, failures)",
    tests: backoff,
  },
  {
    rule: "A wait never exceeds the cap, however many tries failed.",
    file: "src/run/retries.ts",
    find: "Math.min(policy.cap * 1000, LONGEST)",
    replace: "Math.min(Math.max(policy.cap, policy.base) * 1000, LONGEST)",
    tests: backoff,
  },
  {
    rule: "A backoff function that returns a promise cannot end the process.",
    file: "src/run/retries.ts",
    find: "if (answer instanceof Promise) answer.catch(() => {});",
    replace: "",
    tests: backoff,
  },
  {
    rule: "The size of a payload is counted in bytes, not in characters.",
    file: "src/run/payload.ts",
    find: "const bytes = Buffer.byteLength(json);",
    replace: "const bytes = json.length;",
    tests: payload,
  },
  {
    rule: "A timer longer than Node's longest is armed in pieces.",
    file: "src/time.ts",
    find: "() => (left > LONGEST_TIMER ? arm() : callback())",
    replace: "() => callback()",
    tests: ["test/unit/time.test.ts"],
  },
];
