import { signal } from "@preact/signals";

/** An error as the server tells it (RFC 9457), or as the page words it when no server answered. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    /** What else the server said. */
    readonly facts: Readonly<Record<string, unknown>> = {},
  ) {
    super(detail ? `${title}: ${detail}` : title);
  }
}

/** Goes up whenever a request is refused for want of a session; the sign-in dialog watches it. */
export const refusals = signal(0);

type Params = Record<string, string | number | boolean | undefined>;

export function apiUrl(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") query.set(key, String(value));
  }
  const text = query.toString();
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}

export const jobPath = (job: string, rest = ""): string => `jobs/${encodeURIComponent(job)}${rest}`;

export async function getJson<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  const reply = await send("GET", path, params, undefined, signal);
  return (await reply.json()) as T;
}

/** What is asked for before somebody wants it; the first who does has it. */
const early = new Map<string, Promise<Response>>();

export function getEarly(path: string): void {
  const reply = fetch(apiUrl(path), { credentials: "same-origin" });
  reply.catch(() => undefined);
  early.set(path, reply);
}

export async function send(
  method: string,
  path: string,
  params?: Params,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const init: RequestInit = { method, credentials: "same-origin" };
  if (signal) init.signal = signal;
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const kept = method === "GET" ? early.get(apiUrl(path, params).slice("/api/v1/".length)) : undefined;
  let reply: Response;
  try {
    if (kept) early.delete(path);
    reply = await (kept ?? fetch(apiUrl(path, params), init));
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "The server does not answer", "What is on the page stays. Check that smfleet runs and is reachable.");
  }
  if (reply.ok) return reply;
  const problem = await readProblem(reply);
  if (reply.status === 401) refusals.value++;
  throw problem;
}

async function readProblem(reply: Response): Promise<Problem> {
  const fallback = reply.statusText || "The request failed";
  try {
    const body = (await reply.json()) as Record<string, unknown>;
    const title = typeof body["title"] === "string" ? body["title"] : fallback;
    const detail = typeof body["detail"] === "string" ? body["detail"] : "";
    return new Problem(reply.status, title, detail, body);
  } catch {
    return new Problem(reply.status, `${reply.status} ${fallback}`, "");
  }
}

export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, "The page failed", error instanceof Error ? error.message : String(error));
}
