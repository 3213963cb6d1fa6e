import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatJson, memberPath, previewOf } from "../../../dashboard/src/json/format.ts";
import { type JsonContainer, parseJson } from "../../../dashboard/src/json/parse.ts";

const nodeOf = (text: string) => {
  const { node, fault } = parseJson(text);
  expect(fault).toBeNull();
  return node!;
};

describe("JSON without loss", () => {
  test("integers above 2^53, exponents and negative zero keep their text", () => {
    const text = "[9223372036854775807,-0,1e400,0.10000000000000000001]";
    expect(formatJson(nodeOf(text)).replaceAll(/\s/g, "")).toBe(text);
  });

  test("keys keep their order, also numeric, repeated and dangerous ones", () => {
    const text = '{"b":1,"10":2,"2":3,"b":4,"__proto__":5}';
    expect(nodeOf(text)).toMatchObject({ keys: ["b", "10", "2", "b", "__proto__"] });
    expect(formatJson(nodeOf(text)).replaceAll(/\s/g, "")).toBe(text);
  });

  test("accepts what JSON.parse accepts, with the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.parse(formatJson(nodeOf(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("refuses what JSON.parse refuses", () => {
    const token = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      '"a"',
      "1",
      "01",
      "-",
      "true",
      "nul",
      "\\",
      " ",
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 8 }), (tokens) => {
        const text = tokens.join("");
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        expect(parseJson(text).fault === null).toBe(valid);
      }),
      { numRuns: 2000 },
    );
  });

  test("strings may contain escaped quotes, any escape and lone surrogates", () => {
    const value = 'a"b\\" \u2028 \ud800 </script>';
    expect(nodeOf(JSON.stringify(value))).toEqual({ kind: "string", value });
  });

  test("a fault names its line and column", () => {
    expect(parseJson('{\n  "a": 1,\n  b: 2\n}').fault).toMatchObject({
      message: "Expected a key in double quotes, found b",
      line: 3,
      column: 3,
    });
    expect(parseJson("").fault).toMatchObject({ message: "The text ends too early", line: 1, column: 1 });
    expect(parseJson("1 2").fault).toMatchObject({
      message: "The value ends before this character, found 2",
    });
  });

  test("text that was cut gives the members before the cut", () => {
    const { node, fault } = parseJson('{"id":7,"lines":[{"n":1},{"n":2,"te');
    expect(fault).not.toBeNull();
    expect(formatJson(node!).replaceAll(/\s/g, "")).toBe('{"id":7,"lines":[{"n":1},{"n":2}]}');
    expect(parseJson('{"id":').node).toEqual({ kind: "object", keys: [], values: [] });
  });

  test("nesting is not limited by the stack", () => {
    const depth = 200_000;
    const text = "[".repeat(depth) + "]".repeat(depth);
    let node = nodeOf(text) as JsonContainer;
    let levels = 1;
    while (node.values.length > 0) {
      node = node.values[0] as JsonContainer;
      levels++;
    }
    expect(levels).toBe(depth);
  });

  test("a string of megabytes is one token", () => {
    const long = "x\\".repeat(3_000_000);
    expect(nodeOf(JSON.stringify(long))).toEqual({ kind: "string", value: long });
  });
});

describe("JSON in one line", () => {
  test("a path is what JavaScript would write", () => {
    const node = nodeOf('{"order":{"unit price":1},"a":[0]}') as JsonContainer;
    expect(memberPath("", node, 0)).toBe("order");
    expect(memberPath("order", node.values[0] as JsonContainer, 0)).toBe('order["unit price"]');
    expect(memberPath("a", node.values[1] as JsonContainer, 0)).toBe("a[0]");
  });

  test("a preview shows the first members and says that there are more", () => {
    expect(previewOf(nodeOf('{"id":7,"to":"a@b.c","list":[1,2],"more":{"a":1}}'), 80)).toBe(
      '{id: 7, to: "a@b.c", list: [2], more: {…}}',
    );
    expect(previewOf(nodeOf('{"id":7,"to":"a@b.c","list":[1,2]}'), 18)).toBe("{id: 7, …}");
    expect(previewOf(nodeOf("[]"), 20)).toBe("[]");
  });
});
