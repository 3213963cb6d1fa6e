import { expect, test } from "vitest";
import { PoolUsage } from "../../src/store/server/connections.ts";

function pool() {
  let now = 0;
  const usage = new PoolUsage({ monotonic: () => now });
  const use = (connections: number) => {
    for (let n = 0; n < connections; n++) usage.acquire();
    for (let n = 0; n < connections; n++) usage.release();
  };
  return { usage, use, pass: (seconds: number) => (now += seconds * 1000) };
}

test("a pool needs as many connections as were in use at once during the last half minute", () => {
  const { usage, use, pass } = pool();
  use(5);
  expect(usage.needed()).toBe(5);
  pass(29);
  use(1);
  expect(usage.needed()).toBe(5);
  pass(2);
  use(1);
  expect(usage.needed()).toBe(5);
  pass(31);
  use(1);
  expect(usage.needed()).toBe(1);
});

test("connections that are held for minutes stay needed", () => {
  const { usage, use, pass } = pool();
  usage.acquire();
  usage.acquire();
  for (let minute = 0; minute < 3; minute++) {
    pass(60);
    use(1);
    expect(usage.needed()).toBe(3);
  }
  pass(61);
  usage.release();
  expect(usage.needed()).toBe(2);
});

test("a pool that was not used for a minute keeps one connection", () => {
  const { usage, use, pass } = pool();
  use(8);
  pass(120);
  use(1);
  expect(usage.needed()).toBe(1);
});
