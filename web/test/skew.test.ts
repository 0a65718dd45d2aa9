import { expect, test, vi } from "vitest";
import { noteServerTime, serverNow } from "../src/lib/flow/skew";

const AT = Date.parse("2026-11-21T12:00:00Z");
const header = (ms: number): string => new Date(ms).toUTCString();

test("ages are reckoned by the server's clock when this one is wrong", () => {
  vi.setSystemTime(AT);
  noteServerTime(header(AT - 1000), AT - 40, AT);
  expect(serverNow()).toBe(AT);
  noteServerTime(header(AT + 3_600_000), AT - 100, AT);
  expect(serverNow()).toBe(AT + 3_600_550);
  // the next second of the same header is no other clock
  noteServerTime(header(AT + 3_601_000), AT, AT);
  expect(serverNow()).toBe(AT + 3_600_550);
  for (const nothing of [null, "", "yesterday"]) noteServerTime(nothing, AT, AT);
  expect(serverNow()).toBe(AT + 3_600_550);
  noteServerTime(header(AT), AT, AT);
  expect(serverNow()).toBe(AT);
  vi.useRealTimers();
});
