import { expect, test } from "vitest";
import { SeenPoints } from "../src/lib/flow/dedupe";

test("takes each (stream, metric, line, step) once", () => {
  const seen = new SeenPoints();
  expect(seen.take("a", "loss", 1, 10)).toBe(true);
  expect(seen.take("a", "loss", 1, 10)).toBe(false);
  expect(seen.take("b", "loss", 1, 10)).toBe(true);
  expect(seen.take("a", "lr", 1, 10)).toBe(true);
  expect(seen.take("a", "loss", 1, 11)).toBe(true);
  expect(seen.take("a", "loss", null, 10)).toBe(true);
});

test("forgets the oldest beyond its limit", () => {
  const seen = new SeenPoints(2);
  for (const step of [1, 2, 3]) seen.take("a", "loss", step, step);
  expect(seen.take("a", "loss", 3, 3)).toBe(false);
  expect(seen.take("a", "loss", 1, 1)).toBe(true);
});
