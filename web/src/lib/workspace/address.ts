// A whole workspace in an address: packed behind the #, or as a few words a person can write.
import { readWorkspace, parseWorkspace, type LinePanel, type Workspace } from "./document";
import { parseChartState, type Query } from "../url/url";

const KEY = "#w=";

const toText = (bytes: Uint8Array): string => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/[+/=]/g, (sign) => (sign === "+" ? "-" : sign === "/" ? "_" : ""));
const toBytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (sign) => sign.charCodeAt(0));

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function packHash(workspace: Workspace): Promise<string> {
  return KEY + toText(await through(new TextEncoder().encode(JSON.stringify(workspace)), new CompressionStream("deflate-raw")));
}

export const isPacked = (hash: string): boolean => hash.startsWith(KEY);

/** Throws a DocumentError where what was packed is no workspace, and something else where nothing was packed. */
export async function unpackHash(hash: string): Promise<Workspace> {
  const bytes = await through(toBytes(hash.slice(KEY.length)), new DecompressionStream("deflate-raw"));
  return parseWorkspace(new TextDecoder().decode(bytes));
}

/** `?q=tag.team=nlp&lines=loss;ema(grad_norm, 0.9)&x=time`: a panel of curves each. null: it names none. */
export function fromQuery(query: Query): Workspace | null {
  const lines = (query["lines"] ?? "").split(";").map((one) => one.trim()).filter((one) => one !== "");
  if (lines.length === 0) return null;
  const { axis, smooth, logScale, from, to } = parseChartState(query);
  const panels = lines.map((line): LinePanel => ({ kind: "line", expressions: [line], width: 6, height: 2, ...(logScale ? { scale: "log" } : {}) }));
  return readWorkspace({
    version: 1,
    ...(query["q"] ? { query: query["q"] } : {}),
    ...(axis === "step" ? {} : { x: axis }),
    ...(from !== null && to !== null ? { ranges: { [axis]: [from, to] } } : {}),
    ...(smooth > 0 ? { smooth } : {}),
    panels,
  });
}
