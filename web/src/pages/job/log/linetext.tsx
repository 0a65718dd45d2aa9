import type { ComponentChildren } from "preact";
import { parseAnsi, type Span } from "../../../lib/text/ansi";
import { rangesFromBytes, type Range } from "../../../lib/text/matches";
import type { LineCapture } from "../../../api/types";
import { formatExact } from "../../../lib/text/format";
import { t } from "../../../i18n/i18n";

const wrap = (span: Span): ComponentChildren => {
  const style = span.color || span.background ? { color: span.color, backgroundColor: span.background } : undefined;
  if (span.hidden !== undefined)
    return (
      <span class="a-mark" title={t("The character U+{code}", { code: codeOf(span.hidden) })}>
        {span.text}
      </span>
    );
  if (span.isHit)
    return (
      <mark class={span.style || undefined} style={style}>
        {span.text}
      </mark>
    );
  return span.style || style ? (
    <span class={span.style || undefined} style={style}>
      {span.text}
    </span>
  ) : (
    span.text
  );
};

const codeOf = (character: string): string => (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");

/** Log text, in text nodes alone. */
export const Parts = ({ spans }: { spans: readonly Span[] }) => <>{spans.map(wrap)}</>;

export const LineText = ({ text, ranges }: { text: string; ranges: readonly Range[] }) => <Parts spans={parseAnsi(text, ranges)} />;

interface Props {
  /** What is shown of the line. */
  text: string;
  ranges: readonly Range[];
  captures: readonly LineCapture[];
  onShow(metric: string): void;
}

/** The same, with the values that are points: each says what it is, and a click shows it in its chart. */
export function CapturedText({ text, ranges, captures, onShow }: Props) {
  const places = captures.map(({ start, end }) => rangesFromBytes(text, [[start, end]])[0] ?? [0, 0] as const);
  const spans = parseAnsi(text, ranges, places);
  return <>{spans.map((span) => {
    const capture = captures[span.place ?? -1];
    return capture ? button(span, capture, onShow) : wrap(span);
  })}</>;
}

function button(span: Span, { metric, value, step }: LineCapture, onShow: Props["onShow"]): ComponentChildren {
  const values = { metric, value: formatExact(value), step: String(step ?? "") };
  const title = step === undefined ? t("{metric} = {value}: show it in its chart", values) : t("{metric} = {value} at step {step}: show it in its chart", values);
  return (
    <button type="button" tabIndex={-1} class="captured" title={title} onClick={() => onShow(metric)}>
      {wrap(span)}
    </button>
  );
}
