import { parseAnsi, type Span } from "../../lib/ansi";
import type { Range } from "../../lib/matches";

function Part({ span }: { span: Span }) {
  if (span.isHit) return <mark class={span.style || undefined}>{span.text}</mark>;
  return span.style ? <span class={span.style}>{span.text}</span> : <>{span.text}</>;
}

/** Log text, in text nodes alone. */
export const Parts = ({ spans }: { spans: readonly Span[] }) => (
  <>
    {spans.map((span, i) => (
      <Part key={i} span={span} />
    ))}
  </>
);

export const LineText = ({ text, ranges }: { text: string; ranges: readonly Range[] }) => <Parts spans={parseAnsi(text, ranges)} />;
