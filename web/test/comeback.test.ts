import { expect, test } from "vitest";
import { comeBackTo } from "../src/lib/url/comeback";

const at = (pathname: string, search = "", hash = "") => comeBackTo({ pathname, search, hash });

test("one comes back to where one was, as far as the server takes it", () => {
  expect(at("/jobs/a%20b", "?q=x", "#y")).toBe("/jobs/a%20b?q=x#y");
  expect(at("/jobs", "?q=x", "#" + "y".repeat(1024))).toBe("/jobs?q=x");
  expect(at("/jobs", "?q=" + "ä".repeat(600))).toBe("/jobs");
  expect(at("/" + "a".repeat(1024))).toBe("/");
  expect(at("/" + "a".repeat(1023))).toHaveLength(1024);
});

test("nothing is asked for that the server refuses", () => {
  expect(at("/jobs", "?q=a\\d")).toBe("/jobs?q=a%5Cd");
  expect(at("//host")).toBe("/");
});
