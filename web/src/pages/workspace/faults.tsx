// What is wrong with an expression, at its place in the panel.
import type { ComponentChildren } from "preact";
import { t } from "../../i18n/i18n";
import { ExpressionError, type Node } from "../../lib/workspace/expression";

export interface Fault {
  text: string;
  column: number;
  what: string;
}

export interface Read {
  text: string;
  node: Node;
}

/** Each text as what it means, and those that mean nothing. */
export function readAll(texts: readonly string[], read: (text: string) => Node): { read: Read[]; faults: Fault[] } {
  const out: { read: Read[]; faults: Fault[] } = { read: [], faults: [] };
  for (const text of texts) {
    try {
      out.read.push({ text, node: read(text) });
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      out.faults.push({ text, column: error.column, what: error.what });
    }
  }
  return out;
}

export function Faults({ faults }: { faults: readonly Fault[] }) {
  return (
    <div class="faults" role="alert">
      {faults.map(({ text, column, what }) => (
        <div key={text}>
          <strong>{t("This expression cannot be read")}</strong>
          <pre>
            {text.slice(0, column - 1)}
            <mark>{text.slice(column - 1, column) || "\u00a0"}</mark>
            {text.slice(column)}
            {"\n"}
            {" ".repeat(column - 1)}▲
          </pre>
          <p lang="en">{t("column {n}: {what}", { n: column, what })}</p>
        </div>
      ))}
    </div>
  );
}

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="nothing">{children}</p>;
