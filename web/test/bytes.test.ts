import { expect, test } from "vitest";
import { formatBytes, parseBytes } from "../src/lib/text/bytes";

test("sizes are written with three digits", () => {
  expect([0, 1, 1023, 1024, 1536, 23_488_038_912, 2 ** 62].map(formatBytes)).toEqual(["0 B", "1 B", "1023 B", "1 KiB", "1.5 KiB", "21.9 GiB", "4100 PiB"]);
});

test("sizes are read as people write them", () => {
  expect(["4096", "1 KiB", "1.5 GiB", "20 GB", "2t", " .5 MiB "].map(parseBytes)).toEqual([4096, 1024, 1_610_612_736, 20e9, 2e12, 524_288]);
  for (const wrong of ["", "GB", "-1", "1 XB", "1 2", "1e3", "9999999 TiB"]) expect(parseBytes(wrong), wrong).toBeNull();
});
