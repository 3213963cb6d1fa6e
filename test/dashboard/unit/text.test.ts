import { expect, test } from "vitest";
import { visibleText } from "../../../dashboard/src/text/visible.ts";

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
