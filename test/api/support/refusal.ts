import { expect } from "vitest";
import { type ErrorCode, PunctualError } from "../../../src/index.ts";

/** Expects an error of ours with this code, whose message has every one of these parts. */
export async function expectRefusal(
  work: () => unknown,
  code: ErrorCode,
  ...parts: (string | RegExp)[]
): Promise<PunctualError> {
  let thrown: unknown;
  try {
    await work();
  } catch (error) {
    thrown = error;
  }
  expect(thrown, `${code} was expected`).toBeInstanceOf(PunctualError);
  const error = thrown as PunctualError;
  expect(error.code, error.message).toBe(code);
  for (const part of parts) {
    if (typeof part === "string") expect(error.message).toContain(part);
    else expect(error.message).toMatch(part);
  }
  return error;
}
