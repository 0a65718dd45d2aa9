import { expect, test } from "vitest";
import { compareSeq } from "../src/lib/flow/seq";

test("orders decimal marks by value, not by text", () => {
  expect(compareSeq("9", "10")).toBeLessThan(0);
  expect(compareSeq("10", "9")).toBeGreaterThan(0);
  expect(compareSeq("0010", "10")).toBe(0);
  expect(compareSeq("90071992547409931", "90071992547409932")).toBeLessThan(0);
});

test("does not guess at marks it cannot order", () => {
  expect(compareSeq("a1", "a2")).toBeUndefined();
  expect(compareSeq("a1", "a1")).toBe(0);
});
