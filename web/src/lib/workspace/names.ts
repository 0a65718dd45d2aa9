// Names of metrics with *, which stand for all that a job has of that form: gpu/*/util.
import type { Node } from "./expression";

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** What each * of the pattern stands for in the name; null: it is not of that form. */
export function starsOf(pattern: string, name: string): string[] | null {
  return new RegExp(`^${pattern.split("*").map(escaped).join("(.*?)")}$`).exec(name)?.slice(1) ?? null;
}

/** The pattern with texts in the places of its stars. */
export function fill(pattern: string, stars: readonly string[]): string {
  let next = 0;
  return pattern.replace(/\*/g, () => stars[next++] ?? "");
}

function renamed(node: Node, stars: readonly string[]): Node {
  if (node.kind === "metric") return { ...node, name: fill(node.name, stars) };
  if (node.kind === "call") return { ...node, args: node.args.map((one) => renamed(one, stars)) };
  if (node.kind === "negate") return { ...node, of: renamed(node.of, stars) };
  if (node.kind === "join") return { ...node, left: renamed(node.left, stars), right: renamed(node.right, stars) };
  return node;
}

/** The expression once for each metric of its first pattern; what its other patterns' stars stand for is the same. Without a star: itself. */
export function expand(node: Node, metrics: readonly string[], names: readonly string[]): { node: Node; of: string }[] {
  const pattern = metrics.find((one) => one.includes("*"));
  if (pattern === undefined) return [{ node, of: "" }];
  return names.flatMap((name) => {
    const stars = starsOf(pattern, name);
    return stars ? [{ node: renamed(node, stars), of: name }] : [];
  });
}
