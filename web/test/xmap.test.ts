import { expect, test } from "vitest";
import { shifted } from "../src/lib/chart/xmap";
import { along } from "../src/lib/chart/xalong";

test("relative axes count from where the job began", () => {
  const map = shifted("time", 1000);
  expect(map.fromServer(1500)).toBe(500);
  expect(map.toServer(500)).toBe(1500);
});

test("tokens at a step and back, also between points and beyond the last", () => {
  const map = along([0, 10, 20], [0, 1000, 4000]);
  expect(map?.fromServer(5)).toBe(500);
  expect(map?.fromServer(15)).toBe(2500);
  expect(map?.fromServer(30)).toBe(7000);
  for (const step of [0, 3, 10, 17, 20, 44]) expect(map?.toServer(map.fromServer(step))).toBeCloseTo(step, 9);
});

test("a count that falls back at a restart goes on from its highest; one that never rises is no axis", () => {
  expect(along([0, 10, 20, 30], [0, 1000, 500, 2000])?.fromServer(30)).toBe(2000);
  expect(along([0, 10], [5, 5])).toBeNull();
  expect(along([], [])).toBeNull();
});
