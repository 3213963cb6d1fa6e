import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { Cron } from "../../src/schedule/cron.ts";

interface Timed {
  kind: "agreed" | "dst" | "domdow-step";
  cron: string;
  tz: string;
  from: string;
  next: string[];
  reason?: string;
}

interface Invalid {
  kind: "invalid";
  cron: string;
  reason: string;
  contested?: boolean;
}

const lines: (Timed | Invalid)[] = readFileSync(new URL("../corpus/cron.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

const iso = (date: Date) => date.toISOString().replace(".000Z", "Z");

describe.each(["agreed", "dst", "domdow-step"] as const)("corpus: %s", (kind) => {
  const timed = lines.filter((line): line is Timed => line.kind === kind);

  test(`next returns the stated list in ${timed.length} cases`, () => {
    const wrong = timed
      .map((line) => ({
        ...line,
        got: new Cron(line.cron, { timezone: line.tz })
          .upcoming(line.next.length, new Date(line.from))
          .map(iso),
      }))
      .filter((line) => line.got.join() !== line.next.join());
    expect(timed.length).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
  });

  test("previous returns the same list backwards", () => {
    const wrong = timed
      .map((line) => {
        const cron = new Cron(line.cron, { timezone: line.tz });
        const got: string[] = [];
        let at = Date.parse(line.next.at(-1) ?? "") + 1;
        while (got.length < line.next.length) {
          at = cron.previousMs(at) ?? Number.NaN;
          got.unshift(iso(new Date(at)));
        }
        return { ...line, got };
      })
      .filter((line) => line.got.join() !== line.next.join());
    expect(wrong).toEqual([]);
  });

  test("the result of toString has the same ticks", () => {
    const wrong = timed.filter((line) => {
      const again = new Cron(new Cron(line.cron).toString(), { timezone: line.tz });
      return again.upcoming(line.next.length, new Date(line.from)).map(iso).join() !== line.next.join();
    });
    expect(wrong).toEqual([]);
  });
});

describe("corpus: invalid", () => {
  const invalid = lines.filter((line): line is Invalid => line.kind === "invalid");

  test("every uncontested line is refused with INVALID_CRON", () => {
    const refused = (line: Invalid) => {
      try {
        new Cron(line.cron);
        return false;
      } catch (error) {
        return error instanceof PunctualError && error.code === "INVALID_CRON";
      }
    };
    const accepted = invalid.filter((line) => !line.contested && !refused(line));
    expect(invalid.length).toBeGreaterThan(0);
    expect(accepted).toEqual([]);
  });
});
