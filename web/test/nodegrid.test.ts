import { expect, test } from "vitest";
import type { StreamInfo } from "../src/api/types";
import { gridNodes, gridShape, measureOf, moveIn, nodeState } from "../src/lib/jobs/nodegrid";

const stream = (name: string, more: Partial<StreamInfo> = {}): StreamInfo => ({ stream: name, ...more });

test("how a node ended counts more than that it is silent", () => {
  expect(nodeState(stream("a", { last_seen_ms: 9 }), 5)).toBe("sending");
  expect(nodeState(stream("a", { last_seen_ms: 4 }), 5)).toBe("silent");
  expect(nodeState(stream("a", { last_seen_ms: 4 }), null)).toBe("over");
  expect(nodeState(stream("a", { silent_since_ms: 5 }), 0)).toBe("silent");
  expect(nodeState(stream("a", { silent_since_ms: 5, exit: { code: 0, at_ms: 1 } }), 0)).toBe("ended");
  expect(nodeState(stream("a", { exit: { signal: 9, at_ms: 1 } }), null)).toBe("failed");
  expect(nodeState(stream("a", { skew_warning: "off" }), 0)).toBe("clock");
});

test("a machine's figures belong to the nodes on it, an incident to all that it names", () => {
  const nodes = gridNodes(
    [stream("a", { host: "h1" }), stream("b", { host: "h2" }), stream("system/h1", { host: "h1" })],
    [{ id: 1, kind: "straggler", severity: "info", state: "open", job: "j", stream: "b" }],
    [{ stream: "system/h1", lines: 0, instance: { GPUUtilization: 97, CPUUtilization: 3 } }],
    0,
  );
  expect(nodes.map((one) => [one.one.stream, one.faults, one.utilisation])).toEqual([["a", 0, 97], ["b", 1, null]]);
});

test("in trouble is also whom an open incident names, or whose machine should be drained", () => {
  const nodes = gridNodes(
    [stream("a", { host: "h1" }), stream("b"), stream("c"), stream("d", { skew_warning: "off" })],
    [
      { id: 1, kind: "straggler", severity: "info", state: "open", job: "j", stream: "b" },
      { id: 2, kind: "straggler", severity: "info", state: "recovered", job: "j", stream: "c" },
    ],
    [],
    0,
    new Map([["h1", "Xid 79"]]),
  );
  expect(nodes.map((one) => one.isTroubled)).toEqual([true, true, false, true]);
});

test("2048 nodes fit a page, four are large", () => {
  expect(gridShape(2048, 1200)).toEqual({ size: 12, columns: 100, rows: 21 });
  expect(gridShape(4, 1200)).toEqual({ size: 28, columns: 4, rows: 1 });
  expect(gridShape(0, 1200).rows).toBe(0);
});

test("arrows stay in the grid", () => {
  const shape = { columns: 10 };
  expect([moveIn(shape, 25, 3, "ArrowDown"), moveIn(shape, 25, 18, "ArrowDown"), moveIn(shape, 25, 3, "ArrowUp"), moveIn(shape, 25, 24, "ArrowRight")]).toEqual([13, 18, 3, 24]);
  expect([moveIn(shape, 25, 3, "End"), moveIn(shape, 25, 3, "Home"), moveIn(shape, 25, 3, "x")]).toEqual([24, 0, null]);
});

test("a clock that is ahead makes no negative age", () => {
  const [node] = gridNodes([stream("a", { last_seen_ms: 9000 })], [], [], 0);
  expect(node && measureOf(node, "age", 5000)).toBe(0);
  expect(node && measureOf(node, "utilisation", 5000)).toBeNull();
});
