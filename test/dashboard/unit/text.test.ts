import { expect, test } from "vitest";
import { formatBytes } from "../../../dashboard/src/text/bytes.ts";
import { term } from "../../../dashboard/src/text/query.ts";
import { visibleText } from "../../../dashboard/src/text/visible.ts";
import { toTerms } from "../../../src/query/terms.ts";
import { toText } from "../../../src/query/values.ts";

test("terminal escapes and bidirectional overrides are shown as escapes", () => {
  expect(visibleText("\u001b[31mred\u001b[0m \u202ereversed\u2069 \u0000\u0085")).toBe(
    "\\u001b[31mred\\u001b[0m \\u202ereversed\\u2069 \\u0000\\u0085",
  );
});

test("line breaks, tabs, markup, Hebrew and joined emoji stay as they are", () => {
  const text = "a\r\n\tb </script> שלום 👩‍💻";
  expect(visibleText(text)).toBe("a\n\tb </script> שלום 👩‍💻");
});

test("a carriage return alone, which would overwrite a line in a terminal, is shown", () => {
  expect(visibleText("safe\rdanger")).toBe("safe\\u000ddanger");
});

test("bytes have a unit that keeps them short", () => {
  expect([0, 999, 1234, 48_000_000, 5e12].map((bytes) => formatBytes(bytes).replace("\u202f", " "))).toEqual([
    "0 B",
    "999 B",
    "1.2 kB",
    "48 MB",
    "5000 GB",
  ]);
});

test("a query quotes values that its language would read otherwise", () => {
  expect(term("job", "mail.send-invoice")).toBe("job:mail.send-invoice");
  expect(term("job", "billing/charge v2.0")).toBe('job:"billing/charge v2.0"');
  for (const name of ["a,b", "send-*", 'say "hi"', "back\\slash", "-minus:colon", "two words", ">5"]) {
    const [found, ...more] = toTerms(term("key", name));
    expect(more).toEqual([]);
    expect(found).toMatchObject({ not: false, field: "key" });
    expect(found!.values.map(toText)).toEqual([{ is: name }]);
  }
});
