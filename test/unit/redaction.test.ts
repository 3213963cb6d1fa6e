import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BEFORE_PARAMETER,
  redact,
  SECRET_PARAMETERS,
  URL_WITH_USER,
  withoutPasswords,
} from "../../src/run/redact.ts";
import { Redaction } from "../../src/run/redaction.ts";

const hide = (value: unknown, ...patterns: string[]) =>
  JSON.parse(new Redaction(patterns).json(JSON.stringify(value)).json);

/** As a search does it: whether a text may contain what is hidden. */
const mayHideSecret = (text: string) => {
  const contains = (pieces: readonly string[]) =>
    new RegExp(pieces.map((piece) => piece.replace(/[?]/g, "\\?")).join("[^]*"), "i").test(text);
  const isParameter = BEFORE_PARAMETER.some((one) => text.includes(one)) && SECRET_PARAMETERS.some(contains);
  return contains(URL_WITH_USER) || isParameter;
};

test("a search knows every text in which something is hidden", () => {
  const part = fc.constantFrom(
    ...[
      "http://",
      "postgres://",
      "ana",
      ":",
      "@",
      "?",
      "&",
      ";",
      "=",
      " ",
      "x",
      "api_key",
      "apiKey",
      "PASSWORD",
    ],
    ...[
      "pass",
      "passcode",
      "secret",
      "accessToken",
      "auth",
      "Authorization",
      "cookie",
      "credentials",
      "iban",
    ],
    ...["private-key", "session_id", "cvv", "cardNumber"],
  );
  let hidden = 0;
  fc.assert(
    fc.property(fc.array(part, { minLength: 3, maxLength: 9 }), (parts) => {
      const text = parts.join("");
      if (withoutPasswords(text) === text) return;
      hidden++;
      expect(mayHideSecret(text)).toBe(true);
    }),
    { numRuns: 5000 },
  );
  expect(hidden).toBeGreaterThan(20);
});

const MANY = [
  null,
  true,
  0,
  -0.5e-7,
  "",
  [],
  {},
  [[], {}, [1, [2]]],
  { a: 1, b: [true, null, "x"], c: { d: { e: "f" } } },
  { password: "x", Token: ["a", { b: 1 }], api_key: { deep: [1] }, secret: null },
  { 'quo"te\\': 'back\\slash " and \u2028', "\u001b[31m": "\u202eabc" },
  { url: "postgres://ana:geheim@db:5432/x?password=y&a=1", web: "https://t0ken@host/" },
  ["</script>", "\ud83d\ude00", "a?token=abc#x"],
];

describe("the redaction of JSON text", () => {
  test.each(MANY.map((value) => [value]))("hides in %j what redact() hides in the value", (value) => {
    expect(hide(value)).toEqual(redact(value));
  });

  test("keeps integers above 2^53, long fractions, exponents and the order of keys as they are written", () => {
    const text =
      '{"b":9223372036854775807,"a":-0,"2":1e400,"1":0.10000000000000000001,"b":[18446744073709551616]}';
    expect(new Redaction().json(text)).toEqual({ json: text, truncated: false });
  });

  test("keeps white space, and hides across it", () => {
    expect(new Redaction().json(' { "password" : [ 1 , { "a" : "]" } ] , "b" : 1 } ').json).toBe(
      ' { "password" : "[hidden]" , "b" : 1 } ',
    );
  });

  test("a key that escapes spell is the key that they spell", () => {
    expect(new Redaction().json('{"p\\u0061ssword":"x"}').json).toBe('{"p\\u0061ssword":"[hidden]"}');
  });

  test("a URL whose slashes are escaped loses its password", () => {
    expect(new Redaction().json('["http:\\/\\/a:b@c"]').json).toBe('["http://a:[hidden]@c"]');
  });

  test("a name matches at any depth, in any case; a path from $ matches at the root alone", () => {
    const value = { email: 1, user: { email: 2, Email: 3 }, list: [{ user: { email: 4 } }] };
    const all = { email: "[hidden]", user: { email: "[hidden]", Email: "[hidden]" } };
    for (const pattern of ["email", "*.email"])
      expect(hide(value, pattern)).toEqual({ ...all, list: [{ user: { email: "[hidden]" } }] });
    expect(hide(value, "$.email")).toEqual({ ...value, email: "[hidden]" });
    expect(hide(value, "$.user.email").list).toEqual(value.list);
    expect(hide(value, "user.email")).toEqual({
      email: 1,
      user: { email: "[hidden]", Email: "[hidden]" },
      list: [{ user: { email: "[hidden]" } }],
    });
  });

  test("a star matches any text of one step, an index is a step, and quotes take a step literally", () => {
    const value = { a: [{ x: 1 }, { x: 2 }], "b.c": 3, "d*": 4, dd: 5, note: 6, notes: 7 };
    expect(hide(value, "$.a.*.x").a).toEqual([{ x: "[hidden]" }, { x: "[hidden]" }]);
    expect(hide(value, "$.a.1").a).toEqual([{ x: 1 }, "[hidden]"]);
    expect(hide(value, '$."b.c"')["b.c"]).toBe("[hidden]");
    expect(hide(value, '"d*"')).toMatchObject({ "d*": "[hidden]", dd: 5 });
    expect(hide(value, "not*")).toMatchObject({ note: "[hidden]", notes: "[hidden]" });
  });

  test.each(["", ".", "a.", ".a", "a..b", "$.", 'a"b', 7])("refuses the pattern %j", (pattern) => {
    expect(() => new Redaction([pattern as string])).toThrow(/Expected a pattern of redact/);
  });

  test.each([
    "{",
    '{"a"',
    '{"a":',
    '{"a":1,',
    "[1",
    "[1,",
    '"a',
    "tru",
    "01",
    "{a:1}",
    "1 2",
    "",
    '["\\x"]',
    "[1 2]",
  ])("hides the whole text %j, which is not JSON", (text) => {
    expect(new Redaction().json(text)).toEqual({ json: '"[not JSON: hidden]"', truncated: false });
  });

  test("cuts a long text after the secrets in it are hidden, and no character in half", () => {
    const text = JSON.stringify({ password: "x".repeat(100), a: "\u{1F600}".repeat(50) });
    const { json, truncated } = new Redaction().json(text, 34);
    expect({ json, truncated }).toEqual({
      json: '{"password":"[hidden]","a":"\u{1F600}\u{1F600}\u{1F600}',
      truncated: true,
    });
    expect(json.isWellFormed()).toBe(true);
    expect(new Redaction().json("[1,2]", 5)).toEqual({ json: "[1,2]", truncated: false });
    expect(new Redaction().json("[1,2]", 4)).toEqual({ json: "[1,2", truncated: true });
  });

  test("a preview never shows the beginning of a value that is hidden, or of a URL whose password is not read", () => {
    const redaction = new Redaction();
    for (let length = 1; length < 40; length++) {
      const values = [
        { a: 1, password: { deep: ["geheim-geheim-geheim-geheim"] } },
        { a: "postgres://ana:geheim-geheim-geheim@db" },
        { token: "geheim-geheim-geheim-geheim-geheim-geheim-geheim-geheim" },
        // Longer than what a preview reads, which ends within the hidden value.
        { secrets: { token: Array<string>(60).fill("geheim") } },
      ];
      for (const value of values)
        expect(redaction.preview(JSON.stringify(value), length)).not.toContain("gehei");
    }
    expect(redaction.preview('{"a":\n  1}', 20)).toBe('{"a": 1}');
    expect(redaction.preview(JSON.stringify({ html: "x".repeat(1000) }), 10)).toBe('{"html":…');
    expect(redaction.preview(JSON.stringify({ n: [1, 2, 3, 4, 5] }), 10)).toBe('{"n":[1,2,…');
  });

  test("false hides nothing, and still cuts", () => {
    const open = new Redaction(false);
    const text = '{"password":"x","url":"http://a:b@c"}';
    expect(open.json(text)).toEqual({ json: text, truncated: false });
    expect(open.text("http://a:b@c")).toBe("http://a:b@c");
    expect(open.preview(text, 12)).toBe('{"password":…');
  });

  test("the time of a long text grows with its length only", () => {
    const long = "a.".repeat(500_000);
    expect(new Redaction().text(`${long}://`)).toBe(`${long}://`);
    expect(new Redaction().json(JSON.stringify({ a: `${long}?` })).truncated).toBe(false);
  });
});
