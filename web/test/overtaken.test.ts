import { afterEach, expect, test, vi } from "vitest";
import type { Workspace } from "../src/lib/workspace/document";

vi.stubGlobal("window", { addEventListener: () => undefined, removeEventListener: () => undefined, setTimeout, clearTimeout });
vi.stubGlobal("document", { addEventListener: () => undefined, removeEventListener: () => undefined, hidden: false });
vi.stubGlobal("location", { hash: "", pathname: "/workspace", search: "" });
vi.stubGlobal("history", { replaceState: () => undefined });
const { WorkspaceStore } = await import("../src/state/workspace/workspace");

const DOCUMENT: Workspace = { version: 1, panels: [] };
const real = globalThis.fetch;
afterEach(() => void (globalThis.fetch = real));

/** A server with one workspace, which somebody else changes or deletes. */
function serve(kept: Map<string, { etag: string; document: unknown }>): string[] {
  const asked: string[] = [];
  let next = 2;
  globalThis.fetch = (async (url: string, init: RequestInit = {}) => {
    const name = decodeURIComponent(String(url).split("/").pop() ?? "");
    const head = new Headers(init.headers);
    const now = kept.get(name);
    asked.push(`${init.method} ${name}`);
    const refused = (status: number): Response => new Response(JSON.stringify({ title: "no", detail: "" }), { status });
    if (init.method === "GET") return now ? new Response(JSON.stringify(now.document), { headers: { ETag: now.etag } }) : refused(404);
    const [match, none] = [head.get("If-Match"), head.get("If-None-Match")];
    if ((match !== null && match !== now?.etag) || (none === "*" && now)) return refused(412);
    const etag = `"${next++}"`;
    kept.set(name, { etag, document: JSON.parse(String(init.body)) });
    return new Response(null, { status: 204, headers: { ETag: etag } });
  }) as typeof fetch;
  return asked;
}

async function opened(kept: Map<string, { etag: string; document: unknown }>) {
  serve(kept);
  const store = new WorkspaceStore();
  await store.open("night", null);
  store.edit((now) => ({ ...now, title: "mine" }));
  return store;
}

test("what somebody else has saved is told apart from what somebody else has deleted", async () => {
  const kept = new Map([["night", { etag: '"1"', document: DOCUMENT as unknown }]]);
  const changed = await opened(kept);
  kept.set("night", { etag: '"9"', document: DOCUMENT });
  expect((await changed.save("night"))?.status).toBe(412);
  expect(changed.overtaken.value).toBe("saved");
  const gone = await opened(kept);
  kept.delete("night");
  expect((await gone.save("night"))?.status).toBe(412);
  expect(gone.overtaken.value).toBe("deleted");
  expect(await gone.saveAgain()).toBeNull();
  expect(gone.overtaken.value).toBeNull();
  expect((kept.get("night")?.document as Workspace).title).toBe("mine");
  for (const store of [changed, gone]) store.stop();
});

test("what cannot be read again is not said to be kept", async () => {
  const store = await opened(new Map([["night", { etag: '"1"', document: DOCUMENT as unknown }]]));
  expect(store.fault.value).toBeNull();
  store.edit((now) => ({ ...now, query: "x".repeat(8193) }));
  expect(store.fault.value).toMatch(/query.*longer than 8192 bytes/);
  store.undo();
  expect(store.fault.value).toBeNull();
  store.stop();
});
