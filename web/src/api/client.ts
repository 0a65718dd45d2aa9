import { signal } from "@preact/signals";
import { say, t } from "../i18n/i18n";
import { noteServerTime } from "../lib/flow/skew";

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

/** Whether the last request was answered at all. */
export const isAnswering = signal(true);

/** Goes up whenever a request is refused for want of a session; the sign-in dialog watches it. */
export const refusals = signal(0);

/** Goes up when a sign-in succeeds: what was refused before is worth another try. */
export const signIns = signal(0);

export type Params = Record<string, string | number | boolean | undefined>;

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
  return readJson<T>(reply, signal);
}

/** A reply may break off in its middle: the server went away. */
export async function readJson<T>(reply: Response, signal?: AbortSignal): Promise<T> {
  try {
    return (await reply.json()) as T;
  } catch (error) {
    throw signal?.aborted ? error : noAnswer();
  }
}

function noAnswer(): Problem {
  isAnswering.value = false;
  return new Problem(0, t("The server does not answer"), t("What is on the page stays. Check that smfleet runs and is reachable."));
}

/** What is asked for before somebody wants it, by its address; the first who does has it, as long as it is new. */
const early = new Map<string, Promise<Response>>();
const EARLY_MS = 5000;

export function getEarly(path: string, params?: Params): void {
  const url = apiUrl(path, params);
  const reply = fetch(url, { credentials: "same-origin" });
  reply.catch(() => undefined);
  early.set(url, reply);
  setTimeout(() => early.get(url) === reply && early.delete(url), EARLY_MS);
}

/** What was asked for early was asked for by nobody. */
export function noteSignIn(): void {
  early.clear();
  signIns.value++;
}

export async function send(
  method: string,
  path: string,
  params?: Params,
  body?: unknown,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const init: RequestInit = { method, credentials: "same-origin", headers };
  if (signal) init.signal = signal;
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...headers, "Content-Type": "application/json" };
  }
  const url = apiUrl(path, params);
  const kept = method === "GET" ? early.get(url) : undefined;
  const askedMs = Date.now();
  const era = signIns.peek();
  let reply: Response;
  try {
    if (kept) early.delete(url);
    reply = await (kept ?? fetch(url, init));
  } catch (error) {
    throw signal?.aborted ? error : noAnswer();
  }
  isAnswering.value = true;
  if (!kept) noteServerTime(reply.headers.get("Date"), askedMs, Date.now());
  if (reply.ok) return reply;
  if (reply.status === 401) {
    // A refusal from before the sign-in that comes after it says nothing of the new session.
    if (era !== signIns.peek()) return send(method, path, params, body, signal, headers);
    refusals.value++;
  }
  throw await readProblem(reply);
}

async function readProblem(reply: Response): Promise<Problem> {
  const fallback = `${reply.status} ${reply.statusText || t("The request failed")}`;
  const retryAfter = Number(reply.headers.get("Retry-After") ?? NaN);
  const facts = Number.isFinite(retryAfter) ? { retry_after_seconds: retryAfter } : {};
  try {
    const body = (await reply.json()) as Record<string, unknown>;
    const title = typeof body["title"] === "string" ? t(TITLES[reply.status] ?? body["title"]) : fallback;
    const detail = typeof body["detail"] === "string" ? body["detail"] : "";
    return new Problem(reply.status, title, detail, { ...facts, ...body });
  } catch {
    return new Problem(reply.status, t(TITLES[reply.status] ?? fallback), "", facts);
  }
}

/** Status codes in words; where there is none, the server's own title. */
const TITLES: Readonly<Record<number, string>> = {
  401: say("A token is needed"),
  403: say("This token may not do that"),
  404: say("There is no such thing here"),
  429: say("The server asks for fewer requests"),
  500: say("The server failed"),
  503: say("The server cannot do that now"),
};

export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

/** The status of what no server answered and no network lost: the page's own fault, which no second try mends. */
export const FAILED = -1;

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(FAILED, t("The page failed"), error instanceof Error ? error.message : String(error));
}
