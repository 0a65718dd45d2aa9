// Expressions of a panel: metrics and figures of a job, joined by arithmetic. The words are those of conditions (docs/alerts.md), the
// figures those of searches (docs/search.md); docs/workspace.md has the grammar.

export type Node =
  | { kind: "number"; value: number }
  /** A curve of the job, by the metric's name or a role; `*` in the name stands for anything. */
  | { kind: "metric"; name: string; at: number }
  /** A number of the job, as a search knows it. */
  | { kind: "figure"; key: string; at: number }
  | { kind: "call"; name: FunctionName; args: Node[]; at: number }
  | { kind: "negate"; of: Node }
  | { kind: "join"; op: Op; left: Node; right: Node };

export type Op = "+" | "-" | "*" | "/";

/** Where it went wrong, counted from 1. */
export class ExpressionError extends Error {
  constructor(
    readonly column: number,
    readonly what: string,
  ) {
    super(`column ${column}: ${what}`);
  }
}

export const MOST_CHARACTERS = 1000;
const MOST_DEPTH = 16;
export const MOST_WINDOW = 10_000;

/** How many arguments, and what the second one is. */
const FUNCTIONS = {
  ema: "weight",
  mean: "window",
  median: "window",
  min: "window",
  max: "window",
  cummin: null,
  cummax: null,
  abs: null,
  log: null,
  log10: null,
  exp: null,
  sqrt: null,
} as const;
export type FunctionName = keyof typeof FUNCTIONS;
export const FUNCTION_NAMES = Object.keys(FUNCTIONS) as FunctionName[];

const AGGREGATES = new Set(["last", "min", "max", "mean", "count", "step", "best", "best_step", "final"]);
const FAMILIES = new Set(["hp", "tag", "env", "label"]);
/** Of the job itself. */
const FIGURES = new Set(["nodes", "instances", "duration", "billable", "attempts", "silent", "age", "step", "streams", "lines", "total_steps", "eta", "cost", "lost_cost", "goodput", "created", "started", "ended"]);

/** A role stands for the metric that each job has of it; any other bare name is a metric's own. */
const ROLES = new Set(["loss", "eval_loss", "throughput", "grad_norm", "learning_rate", "mfu", "step_time", "reward", "kl", "entropy", "response_length", "clip_fraction", "rollout_time", "benchmark"]);

interface Token {
  kind: "number" | "name" | "quoted" | "sign" | "end";
  text: string;
  /** From 1. */
  at: number;
}

/** As a person would point at it. */
const shown = (token: Token): string => (token.kind === "end" ? "the end" : `'${token.text.slice(0, 40)}'`);

const NUMBER = /^(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i;
// A key of a search may hold a quoted part: metric."train:loss".min
const NAME = /^[A-Za-z_][A-Za-z0-9_]*(\.([A-Za-z0-9_]+|"[^"]*"))*/;

function lex(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const [space = ""] = /^\s+/.exec(rest) ?? [];
    const [number] = NUMBER.exec(rest) ?? [];
    const [name] = NAME.exec(rest) ?? [];
    if (space) at += space.length;
    else if (number !== undefined) tokens.push({ kind: "number", text: number, at: at + 1 }), (at += number.length);
    else if (name !== undefined) tokens.push({ kind: "name", text: name, at: at + 1 }), (at += name.length);
    else if (rest.startsWith('"')) {
      const end = text.indexOf('"', at + 1);
      if (end < 0) throw new ExpressionError(at + 1, "this quote is never closed");
      tokens.push({ kind: "quoted", text: text.slice(at + 1, end), at: at + 1 });
      at = end + 1;
    } else if (/^[-+*/(),]/.test(rest)) tokens.push({ kind: "sign", text: rest.charAt(0), at: ++at });
    else throw new ExpressionError(at + 1, `a metric, a number or a sign was expected, not '${Array.from(rest)[0] ?? ""}'`);
  }
  tokens.push({ kind: "end", text: "", at: text.length + 1 });
  return tokens;
}

class Parser {
  private next = 0;
  private depth = 0;

  constructor(
    private readonly tokens: readonly Token[],
    /** Whether a bare name is a curve or the last value of one. */
    private readonly wants: "curve" | "figure",
  ) {}

  private get token(): Token {
    return this.tokens[this.next] as Token;
  }

  private isSign(signs: string): boolean {
    return this.token.kind === "sign" && signs.includes(this.token.text);
  }

  private fail(what: string): never {
    throw new ExpressionError(this.token.at, `${what}, not ${shown(this.token)}`);
  }

  private want(sign: string): void {
    if (!this.isSign(sign)) this.fail(`'${sign}' was expected`);
    this.next++;
  }

  whole(): Node {
    const node = this.sum();
    if (this.token.kind !== "end") this.fail("+, -, *, / or the end was expected");
    return node;
  }

  private sum(): Node {
    if (++this.depth > MOST_DEPTH) throw new ExpressionError(this.token.at, `parentheses are nested at most ${MOST_DEPTH} deep`);
    const node = this.joined("+-", () => this.joined("*/", () => this.unary()));
    this.depth--;
    return node;
  }

  private joined(signs: string, part: () => Node): Node {
    let left = part();
    while (this.isSign(signs)) {
      const op = this.token.text as Op;
      this.next++;
      left = { kind: "join", op, left, right: part() };
    }
    return left;
  }

  private unary(): Node {
    let isNegative = false;
    for (; this.isSign("-"); this.next++) isNegative = !isNegative;
    const of = this.primary();
    return isNegative ? { kind: "negate", of } : of;
  }

  private primary(): Node {
    const token = this.token;
    if (this.isSign("(")) {
      this.next++;
      const inner = this.sum();
      this.want(")");
      return inner;
    }
    if (token.kind === "number") {
      this.next++;
      return { kind: "number", value: Number(token.text) };
    }
    if (token.kind === "quoted") {
      if (token.text === "") throw new ExpressionError(token.at, "a name of a metric was expected, not ''");
      this.next++;
      return this.named(token.text, token.at);
    }
    if (token.kind !== "name") this.fail("a metric, a number or '(' was expected");
    this.next++;
    if (this.isSign("(")) return this.call(token);
    return isFigure(token.text) ? { kind: "figure", key: token.text, at: token.at } : this.named(token.text, token.at);
  }

  private named(name: string, at: number): Node {
    if (this.wants === "curve") return { kind: "metric", name, at };
    if (name.includes("*")) throw new ExpressionError(at, "a name with * stands for many curves, and one number is wanted here");
    return { kind: "figure", key: `${ROLES.has(name) ? name : `metric."${name}"`}.last`, at };
  }

  private call({ text, at }: Token): Node {
    const name = FUNCTION_NAMES.find((one) => one === text);
    if (name === undefined) throw new ExpressionError(at, `there is no function '${text.slice(0, 40)}'; there are ${FUNCTION_NAMES.join(", ")}`);
    this.want("(");
    const args = [this.sum()];
    const second = FUNCTIONS[name];
    if (second !== null) {
      if (!this.isSign(",")) this.fail(`',' and a ${second} were expected: ${name}(loss, ${second === "weight" ? "0.9" : "100"})`);
      this.next++;
      args.push(this.second(second));
    }
    this.want(")");
    if (second !== null && this.wants === "figure") throw new ExpressionError(at, `${name} needs a curve, and one number is wanted here`);
    return { kind: "call", name, args, at };
  }

  private second(what: "weight" | "window"): Node {
    const { kind, text, at } = this.token;
    const value = kind === "number" ? Number(text) : NaN;
    const isGood = what === "weight" ? value >= 0 && value < 1 : Number.isInteger(value) && value >= 1 && value <= MOST_WINDOW;
    if (!isGood) throw new ExpressionError(at, what === "weight" ? `a weight from 0 to below 1 was expected, not ${shown(this.token)}` : `a number of points from 1 to ${MOST_WINDOW} was expected, not ${shown(this.token)}`);
    this.next++;
    return { kind: "number", value };
  }
}

function isFigure(name: string): boolean {
  const parts = name.split(".");
  const [first = ""] = parts;
  if (parts.length === 1) return FIGURES.has(name);
  return FAMILIES.has(first) || first === "metric" || AGGREGATES.has(parts[parts.length - 1] ?? "");
}

/** Throws an ExpressionError that names the place. */
export function parseExpression(text: string, wants: "curve" | "figure"): Node {
  if (text.length > MOST_CHARACTERS) throw new ExpressionError(MOST_CHARACTERS + 1, `an expression has at most ${MOST_CHARACTERS} characters`);
  const node = new Parser(lex(text), wants).whole();
  if (wants === "curve" && metricsOf(node).length === 0) throw new ExpressionError(1, "a metric must be named");
  return node;
}

function* walk(node: Node): Generator<Node> {
  yield node;
  if (node.kind === "call") for (const arg of node.args) yield* walk(arg);
  else if (node.kind === "negate") yield* walk(node.of);
  else if (node.kind === "join") {
    yield* walk(node.left);
    yield* walk(node.right);
  }
}

export const metricsOf = (node: Node): string[] => [...new Set([...walk(node)].flatMap((one) => (one.kind === "metric" ? [one.name] : [])))];
export const figuresOf = (node: Node): string[] => [...new Set([...walk(node)].flatMap((one) => (one.kind === "figure" ? [one.key] : [])))];

/** Of numbers: what a table, a scatter and a single number show. null: the job lacks one of them. */
export function evaluateFigure(node: Node, figure: (key: string) => number | null): number | null {
  const of = (one: Node): number | null => evaluateFigure(one, figure);
  if (node.kind === "number") return node.value;
  if (node.kind === "figure") return figure(node.key);
  if (node.kind === "metric") return null;
  if (node.kind === "negate") {
    const value = of(node.of);
    return value === null ? null : -value;
  }
  if (node.kind === "call") {
    const value = node.args[0] ? of(node.args[0]) : null;
    return value === null ? null : POINTWISE[node.name as Pointwise]?.(value) ?? value;
  }
  const [left, right] = [of(node.left), of(node.right)];
  return left === null || right === null ? null : join(node.op, left, right);
}

export type Pointwise = "abs" | "log" | "log10" | "exp" | "sqrt";
export const POINTWISE: Readonly<Record<Pointwise, (value: number) => number>> = { abs: Math.abs, log: Math.log, log10: Math.log10, exp: Math.exp, sqrt: Math.sqrt };

export function join(op: Op, a: number, b: number): number {
  if (op === "+") return a + b;
  if (op === "-") return a - b;
  return op === "*" ? a * b : a / b;
}
