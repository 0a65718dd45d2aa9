import { afterEach, expect, test, vi } from "vitest";
import { FAILED } from "../src/api/client";
import { Resource } from "../src/state/core/resource";
import { Store } from "../src/state/core/store";

afterEach(() => void vi.unstubAllGlobals());

/** The server answers so, and again so. */
function answer(...replies: { status: number; body: unknown }[]): void {
  vi.stubGlobal("fetch", async () => {
    const { status, body } = replies.shift() ?? { status: 500, body: {} };
    return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
  });
}

class Deliveries extends Resource<{ deliveries: number[] }> {
  readonly counts: number[] = [];

  constructor() {
    super("deliveries");
    this.whenStopped(this.value.subscribe((reply) => reply && this.counts.push(reply.deliveries.length)));
  }
}

class Asking extends Store {
  readonly heard: (number | null)[] = [];

  ask<T>(act: () => Promise<T>): Promise<T | null> {
    return this.request(act, (problem) => this.heard.push(problem?.status ?? null));
  }
}

test("a problem is told until a request goes well", async () => {
  answer({ status: 404, body: { title: "Not found" } }, { status: 200, body: { deliveries: [1, 2] } });
  const deliveries = new Deliveries();
  await deliveries.load();
  expect(deliveries.problem.value?.status).toBe(404);
  expect(deliveries.value.value).toBeNull();
  await deliveries.load();
  expect(deliveries.problem.value).toBeNull();
  expect(deliveries.counts).toEqual([2]);
});

test("a reply that the page can do nothing with is the page's fault, and is told", async () => {
  answer({ status: 200, body: { other: 1 } });
  const deliveries = new Deliveries();
  await deliveries.load();
  expect(deliveries.problem.value?.status).toBe(FAILED);
});

test("of a store that has stopped nothing is heard, whether it went well or not", async () => {
  const store = new Asking();
  let finish: (text: string) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const good = store.ask(() => new Promise<string>((resolve) => (finish = resolve)));
  const bad = store.ask(() => new Promise<string>((_, reject) => (fail = reject)));
  expect(await store.ask(async () => "before")).toBe("before");
  store.stop();
  finish("late");
  fail(new Error("late"));
  expect(await Promise.all([good, bad])).toEqual([null, null]);
  expect(store.heard).toEqual([null]);
});

test("what stands on a store ends with it, once, in the order in which it was named", () => {
  const store = new Asking();
  const ended: string[] = [];
  store.whenStopped(() => ended.push("function"), { stop: () => ended.push("store") });
  store.stop();
  store.stop();
  expect(ended).toEqual(["function", "store"]);
});
