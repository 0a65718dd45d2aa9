import { beforeEach, describe, expect, test } from "vitest";
import type { Environment, Source } from "../src/live/channel";
import { Hub, union } from "../src/live/hub";
import { decodeEvent, LINGER_MS, SILENT_MS, type FromHub, type Want } from "../src/live/protocol";
import { liveUrl } from "../src/live/liveurl";

class FakeSource implements Source {
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  isClosed = false;
  private readonly listeners = new Map<string, (event: { data: string; lastEventId: string }) => void>();

  constructor(readonly url: string) {}

  addEventListener(type: string, listener: (event: { data: string; lastEventId: string }) => void): void {
    this.listeners.set(type, listener);
  }

  close(): void {
    this.isClosed = true;
  }

  say(type: string, id: string, data: unknown): void {
    this.listeners.get(type)?.({ data: JSON.stringify(data), lastEventId: id });
  }
}

/** Time and connections that stand still until a test moves them. */
class FakeEnvironment implements Environment {
  sources: FakeSource[] = [];
  private timers: { id: number; at: number; run: () => void }[] = [];
  private time = 0;
  private ids = 0;

  open(url: string): Source {
    const source = new FakeSource(url);
    this.sources.push(source);
    return source;
  }

  setTimer(run: () => void, ms: number): number {
    this.timers.push({ id: ++this.ids, at: this.time + ms, run });
    return this.ids;
  }

  clearTimer(id: number): void {
    this.timers = this.timers.filter((timer) => timer.id !== id);
  }

  now(): number {
    return this.time;
  }

  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.clearTimer(next.id);
      this.time = next.at;
      next.run();
    }
    this.time = end;
  }

  get openSources(): FakeSource[] {
    return this.sources.filter((source) => !source.isClosed);
  }

  get current(): FakeSource {
    const source = this.openSources[0];
    if (!source) throw new Error("no connection is open");
    return source;
  }
}

const fleet = (after: string | null): Want => ({ jobs: null, kinds: ["job", "incident"], after });
const job = (name: string, after: string | null): Want => ({ jobs: [name], kinds: ["points", "lines"], after });

let env: FakeEnvironment;
let hub: Hub;

beforeEach(() => {
  env = new FakeEnvironment();
  hub = new Hub(env);
});

function page(): { key: object; heard: FromHub[]; events: () => string[] } {
  const key = {};
  const heard: FromHub[] = [];
  hub.attach(key, (message) => heard.push(message));
  const events = (): string[] => heard.flatMap((one) => (one.type === "event" ? [`${one.event.kind} ${one.event.id}`] : []));
  return { key, heard, events };
}

describe("reading events", () => {
  test("known kinds are read, anything else is refused", () => {
    expect(decodeEvent("points", "5", '{"job":"a","series":[]}')).toEqual({
      kind: "points", id: "5", data: { job: "a", series: [] },
    });
    expect(decodeEvent("resync", "5", '{"seq":"9"}')).toEqual({ kind: "resync", id: "9" });
    expect(decodeEvent("pool", "5", "{}")).toBeNull();
    expect(decodeEvent("points", "5", "{broken")).toBeNull();
    expect(decodeEvent("points", "5", "null")).toBeNull();
  });

  test("names with commas survive the list of jobs", () => {
    const url = liveUrl(["a,b", "c%d", "e f"], ["points", "job"], "12");
    expect(url).toBe("/api/v1/live?jobs=a%252Cb,c%2525d,e%20f&kinds=points,job&after=12");
    const list = new URL(url, "http://x").searchParams.get("jobs") ?? "";
    expect(list.split(",").map(decodeURIComponent)).toEqual(["a,b", "c%d", "e f"]);
  });
});

describe("the hub", () => {
  test("pages that watch jobs share one connection", () => {
    const one = page();
    const two = page();
    hub.receive(one.key, { type: "want", want: job("a", "10") });
    hub.receive(two.key, { type: "want", want: job("b", "12") });
    expect(env.openSources).toHaveLength(1);
    expect(env.current.url).toContain("jobs=a,b&kinds=points,lines&after=10");
    env.current.say("points", "13", { job: "a", series: [] });
    expect(one.events()).toEqual(["points 13"]);
    expect(two.events()).toEqual([]);
  });

  test("a page that joins with an older mark starts the replay there, one with a newer does not", () => {
    const one = page();
    const two = page();
    hub.receive(one.key, { type: "want", want: job("a", "10") });
    env.current.say("points", "20", { job: "a", series: [] });
    hub.receive(two.key, { type: "want", want: job("a", "15") });
    expect(env.current.url).toContain("after=15");
    hub.receive(page().key, { type: "want", want: job("a", "99") });
    expect(env.sources).toHaveLength(2);
  });

  test("a page that joins with the mark of the last event is given what came with it", () => {
    const one = page();
    hub.receive(one.key, { type: "want", want: job("a", "10") });
    env.current.say("points", "20", { job: "a", series: [] });
    hub.receive(page().key, { type: "want", want: job("a", "20") });
    expect(env.sources).toHaveLength(2);
    expect(env.current.url).toContain("after=20");
  });

  test("marks that cannot be ordered make the others load anew", () => {
    const one = page();
    hub.receive(one.key, { type: "want", want: job("a", "x1") });
    env.current.say("points", "x2", { job: "a", series: [] });
    hub.receive(page().key, { type: "want", want: job("a", "x9") });
    expect(one.events()).toEqual(["points x2", "resync x9"]);
    expect(env.current.url).toContain("after=x9");
  });

  test("a page alone that turns to another job starts from its own mark", () => {
    const one = page();
    hub.receive(one.key, { type: "want", want: job("a", "10") });
    env.current.say("points", "11", { job: "a", series: [] });
    hub.receive(one.key, { type: "want", want: job("b", "50") });
    expect(env.openSources).toHaveLength(1);
    expect(env.current.url).toContain("jobs=b&kinds=points,lines&after=50");
  });

  test("goes on after the last event when the connection breaks, and waits longer each time", () => {
    const one = page();
    hub.receive(one.key, { type: "want", want: fleet("1") });
    env.current.onopen?.();
    env.current.say("job", "7", { TrainingJobName: "a" });
    env.current.onerror?.();
    expect(env.openSources).toHaveLength(0);
    env.pass(500);
    expect(env.current.url).toBe("/api/v1/live?kinds=job,incident&after=7");
    env.current.onerror?.();
    env.pass(500);
    expect(env.openSources).toHaveLength(0);
    env.pass(500);
    expect(env.openSources).toHaveLength(1);
    const states = one.heard.flatMap((message) => (message.type === "state" ? [message.state] : []));
    expect(states).toEqual(["connecting", "live", "connecting"]);
  });

  test("says offline when it fails again and again", () => {
    const one = page();
    hub.receive(one.key, { type: "want", want: fleet("1") });
    for (let i = 0; i < 4; i++) {
      env.current.onerror?.();
      env.pass(20_000);
      hub.receive(one.key, { type: "visible", visible: true });
    }
    expect(one.heard.at(-1)).toEqual({ type: "state", state: "offline" });
  });

  test("closes 30 s after the last visible page hides, and resumes where it stood", () => {
    const one = page();
    hub.receive(one.key, { type: "want", want: fleet("1") });
    env.current.say("job", "7", { TrainingJobName: "a" });
    hub.receive(one.key, { type: "visible", visible: false });
    env.pass(LINGER_MS - 1);
    expect(env.openSources).toHaveLength(1);
    env.pass(1);
    expect(env.openSources).toHaveLength(0);
    hub.receive(one.key, { type: "visible", visible: true });
    expect(env.current.url).toContain("after=7");
  });

  test("a page that vanished without a word does not keep the connection", () => {
    hub.receive(page().key, { type: "want", want: job("a", "1") });
    env.pass(SILENT_MS + LINGER_MS);
    expect(env.openSources).toHaveLength(0);
  });

  test("a page that says goodbye and comes back is served again", () => {
    const one = page();
    hub.receive(one.key, { type: "want", want: job("a", "1") });
    hub.receive(one.key, { type: "bye" });
    expect(env.openSources).toHaveLength(0);
    hub.attach(one.key, (message) => one.heard.push(message));
    hub.receive(one.key, { type: "want", want: job("a", "2") });
    expect(env.current.url).toContain("after=2");
  });

  test("an event without an id does not move the mark", () => {
    const one = page();
    hub.receive(one.key, { type: "want", want: fleet("5") });
    env.current.say("job", "", { TrainingJobName: "a" });
    env.current.onerror?.();
    env.pass(500);
    expect(env.current.url).toContain("after=5");
  });

  test("the union names every job and kind once", () => {
    expect(union([job("b", null), job("a", null), { jobs: ["b"], kinds: ["job"], after: null }])).toEqual({
      jobs: ["a", "b"], kinds: ["points", "lines", "job"],
    });
    expect(union([fleet(null), job("a", null)]).jobs).toBeNull();
  });
});
