import { expect, test } from "vitest";
import { fileHref, previewOf } from "../src/lib/jobs/files";

test("only pictures that run nothing are shown as such, and only plain text as text", () => {
  for (const type of ["image/png", "image/jpeg", "image/gif", "image/webp"]) expect(previewOf(type)).toBe("image");
  for (const type of ["text/plain; charset=utf-8", "text/csv", "application/json", "application/yaml", "application/x-yaml"]) expect(previewOf(type)).toBe("text");
  for (const type of ["image/svg+xml", "text/html", "text/javascript", "application/xhtml+xml", "application/octet-stream", "", "image/png2", "ximage/png"]) {
    expect(previewOf(type)).toBe("none");
  }
});

test("a file's address survives any name, and keeps its folders", () => {
  expect(fileHref("a/b", "plots/loss #1 100%?.png")).toBe("/api/v1/jobs/a%2Fb/attachments/plots/loss%20%231%20100%25%3F.png");
});
