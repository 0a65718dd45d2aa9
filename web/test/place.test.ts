import { expect, test } from "vitest";
import { lastPage, PAGE_LINES, pageAround, parsePlace, placeOf, turn } from "../src/lib/url/place";

test("an address names the stream and the first line", () => {
  expect(parsePlace({ stream: "algo-2", from: "400" })).toEqual({ stream: "algo-2", from: 400 });
  expect(parsePlace({ from: "-4" }).from).toBeNull();
  expect(parsePlace({ from: "x" }).from).toBeNull();
  const streams = [{ stream: "algo-1", lines: 10 }, { stream: "algo-2", lines: 1000 }];
  expect(placeOf(parsePlace({}), streams)).toEqual({ stream: "algo-1", from: 0 });
  expect(placeOf(parsePlace({ stream: "algo-2" }), streams)).toEqual({ stream: "algo-2", from: 800 });
  expect(placeOf(parsePlace({ stream: "algo-2", from: "0" }), streams)).toEqual({ stream: "algo-2", from: 0 });
  expect(placeOf(parsePlace({}), null)).toEqual({ stream: null, from: 0 });
});

test("pages turn, and end where the lines do", () => {
  expect(turn(0, 1000, -1)).toBeNull();
  expect(turn(50, 1000, -1)).toBe(0);
  expect(turn(0, PAGE_LINES, 1)).toBeNull();
  expect(turn(0, PAGE_LINES + 1, 1)).toBe(PAGE_LINES);
  expect([pageAround(5), pageAround(500)]).toEqual([0, 400]);
  expect([lastPage(1000), lastPage(3)]).toEqual([800, 0]);
});
