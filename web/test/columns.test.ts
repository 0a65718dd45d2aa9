import { expect, test } from "vitest";
import { DEFAULT_COLUMNS, isField, moveColumn, parseColumns, placeColumn, printColumns, withSorted } from "../src/lib/jobs/columns";
import { PAGE_ROWS, pagesFor, pagesToDrop } from "../src/lib/jobs/jobpages";
import { movedTo } from "../src/lib/url/url";

test("any property is a column, and nothing else", () => {
  for (const key of ["hp.lr", "tag.team", "env.A B", "ResourceConfig.VolumeSizeInGB", "attempts", "pool", "loss.final", "train:loss.max", 'hp.é "%/']) expect(isField(key), key).toBe(true);
  for (const key of ["", "hp.", "loss", "name", "spark", "a,b.last", ".last"]) expect(isField(key), key).toBe(false);
});

test("columns of an address", () => {
  expect(parseColumns(undefined)).toEqual(DEFAULT_COLUMNS);
  expect(parseColumns("nonsense,,")).toEqual(DEFAULT_COLUMNS);
  expect(parseColumns("loss,hp.lr,loss")).toEqual(["name", "loss", "hp.lr"]);
  expect(printColumns(DEFAULT_COLUMNS)).toBeUndefined();
  expect(parseColumns(printColumns(["name", "hp.100%"]))).toEqual(["name", "hp.100%"]);
  expect(moveColumn(["a", "b", "c"], "c", -1)).toEqual(["a", "c", "b"]);
  expect(moveColumn(["a", "b"], "a", -1)).toEqual(["a", "b"]);
});

test("a dragged column takes the place of the other; what is sorted by is shown", () => {
  expect(placeColumn(["a", "b", "c"], "a", "c")).toEqual(["b", "c", "a"]);
  expect(placeColumn(["a", "b", "c"], "c", "a")).toEqual(["c", "a", "b"]);
  expect(placeColumn(["a", "b"], "x", "a")).toEqual(["a", "b"]);
  expect(withSorted(["status", "name", "loss"], "hp.lr")).toEqual(["status", "name", "hp.lr", "loss"]);
  expect(withSorted(["name", "loss"], "loss")).toEqual(["name", "loss"]);
  expect(withSorted(["name"], undefined)).toEqual(["name"]);
  expect(withSorted(["name"], "no such key")).toEqual(["name"]);
});

test("pages of a window, the middle first", () => {
  expect(pagesFor(0, 30)).toEqual([0]);
  expect(pagesFor(40, 3 * PAGE_ROWS + 1)).toEqual([1, 2, 0, 3]);
  expect(pagesFor(10, 10)).toEqual([0]);
  const held = Array.from({ length: 100 }, (_, i) => i);
  expect(pagesToDrop(held, 0)).toHaveLength(20);
  expect(pagesToDrop(held, 0)).not.toContain(5);
  expect(pagesToDrop([1, 2], 9)).toEqual([]);
});

test("searches that were at the root lead to the list", () => {
  expect(movedTo("/", "?q=loss%3E3&sort=-created")).toBe("/jobs?q=loss%3E3&sort=-created");
  expect(movedTo("/", "")).toBeNull();
  expect(movedTo("/jobs", "?q=x")).toBeNull();
});
