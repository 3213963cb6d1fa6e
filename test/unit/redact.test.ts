import { expect, test } from "vitest";
import { hides } from "../../src/cli/views/page-blocks.ts";
import { redact } from "../../src/run/redact.ts";

test.each([
  [
    "postgres://app:pa55@db:5432/shop?sslmode=require",
    "postgres://app:[hidden]@db:5432/shop?sslmode=require",
  ],
  ["amqps://app:pa55@w0rd@mq", "amqps://app:[hidden]@mq"],
  ["redis://:pa55@cache/0", "redis://:[hidden]@cache/0"],
  ["https://ghp_abc@github.com/a/b.git", "https://[hidden]@github.com/a/b.git"],
  ["see https://a:b@x.org and ftp://c:d@y.org", "see https://a:[hidden]@x.org and ftp://c:[hidden]@y.org"],
  ["https://x.org/?a=1&access_token=abc&b=2#top", "https://x.org/?a=1&access_token=[hidden]&b=2#top"],
  ["mongodb+srv://u:p@h/?authSource=admin", "mongodb+srv://u:[hidden]@h/?authSource=admin"],
])("%s is shown without its secrets", (text, shown) => {
  expect(redact({ list: [text] })).toEqual({ list: [shown] });
  expect(hides([text])).toBe(true);
});

test.each([
  "https://registry.example.com:4873/@scope/pkg",
  "postgres://app@db/shop",
  "mail ada@example.com at 10:30",
  "https://example.com/?page=2&sort=name",
  "[hidden]",
])("%s is shown as it is", (text) => {
  expect(redact({ text })).toEqual({ text });
  expect(hides({ text })).toBe(false);
});
