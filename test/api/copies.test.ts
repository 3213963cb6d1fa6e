import { expect, test } from "vitest";
import { PermanentError, PunctualError } from "../../src/index.ts";
import { EncodedArgs } from "../../src/run/payload.ts";
import { runScript } from "./support/child.ts";

/** Loads everything that `import()` loads as a second copy of the package, as tsx does in a package of CommonJS. */
const TWO_COPIES = `import { registerHooks } from "node:module";
  const source = ${JSON.stringify(new URL("../../src/", import.meta.url).href)};
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const isOurs = resolved.url.startsWith(source);
      const isSecond = context.parentURL?.endsWith("?second") || /(sqlite\\/open|supervisor\\/\\w+)\\.ts$/.test(specifier);
      return isOurs && isSecond ? { ...resolved, url: resolved.url + "?second" } : resolved;
    },
  });
`;

test("the store may come from another copy of the package", async () => {
  const ended = await runScript(`${TWO_COPIES}
    const { Punctual, PunctualError } = await import("punctual");
    const jobs = new Punctual("sqlite:./copies.db", { logger: false });
    jobs.schedule("parent", async (_, run) => { await jobs.dispatch("child"); });
    jobs.schedule("child", () => {});
    await jobs.dispatch("parent");
    console.log(await jobs.run(), (await jobs.runs({ job: "child" })).runs[0].parentId);
    const refused = new Punctual("sqlite:./none.db", { install: false, logger: false });
    await refused.find(1).catch((error) => console.log(error instanceof PunctualError, error.code));
    await Promise.all([jobs.stop(), refused.stop()]);`);
  expect(ended).toMatchObject({ stdout: "2 1\ntrue NOT_INSTALLED\n", code: 0 });
});

test("instanceof accepts errors of another copy, and only those of the same class", async () => {
  const other = (await import(
    /* @vite-ignore */ `${new URL("../../src/errors.ts", import.meta.url).pathname}?second`
  )) as typeof import("../../src/errors.ts");
  expect(other.PunctualError).not.toBe(PunctualError);
  const error = new other.PunctualError("CLOSED", "closed");
  expect(error).toBeInstanceOf(PunctualError);
  expect(error).not.toBeInstanceOf(PermanentError);
  expect(new other.PermanentError("no")).toBeInstanceOf(PermanentError);
  expect(new Error("plain")).not.toBeInstanceOf(PunctualError);
  for (const value of [null, undefined, "CLOSED", 1]) expect(value).not.toBeInstanceOf(PunctualError);
  class Narrow extends PunctualError {}
  expect(error).not.toBeInstanceOf(Narrow);
  expect(new Narrow("CLOSED", "closed")).toBeInstanceOf(PunctualError);
  expect(new Narrow("CLOSED", "closed")).toBeInstanceOf(Narrow);
});

test("arguments that another copy has encoded are not encoded twice", async () => {
  const other = (await import(
    /* @vite-ignore */ `${new URL("../../src/run/payload.ts", import.meta.url).pathname}?second`
  )) as typeof import("../../src/run/payload.ts");
  const encoded = new other.EncodedArgs({ id: 1 }, 100);
  expect(EncodedArgs.of(encoded, 100).json).toBe('{"id":1}');
});
