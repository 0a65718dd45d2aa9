import { expect, test } from "vitest";
import { rateText } from "../src/lib/text/rate";

test.each([
  [3e-4, "3e-4"],
  [1e-3, "1e-3"],
  [0.02, "2e-2"],
  [6.25e-5, "6.25e-5"],
  [1.23456e-4, "1.235e-4"],
  [0.1, "0.1000"],
  [0, "0"],
  [null, "–"],
] as const)("a rate of %s is %s", (rate, text) => {
  expect(rateText(rate)).toBe(text);
});
