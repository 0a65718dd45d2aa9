import type { ComponentChildren } from "preact";
import { parseAnsi, sourceOf, type Span } from "../../../lib/text/ansi";
import { rangesFromBytes, type Range } from "../../../lib/text/matches";
import type { Capture } from "../../../api/types";
import { formatExact } from "../../../lib/text/format";
import { t } from "../../../i18n/i18n";
import type { LineCaptures } from "../../../state/log/logcaptures";

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

export interface Captured {
  captures: LineCaptures;
  nameOf(capture: Capture): string;
  onShow(capture: Capture): void;
}

/** The same, with the values that the job's definitions captured: each says what it is, and a click shows it in its chart. */
export function CapturedText({ text, ranges, captured }: { text: string; ranges: readonly Range[]; captured: Captured }) {
  const spans = parseAnsi(text, ranges);
  const places = placesOf(spans, captured.captures);
  if (places.length === 0) return <Parts spans={spans} />;
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const span of spans) {
    const length = (span.hidden ?? span.text).length;
    let from = 0;
    for (const { range, capture } of places) {
      const [start, end] = [Math.max(0, range[0] - at), Math.min(length, range[1] - at)];
      if (end <= start || start < from) continue;
      out.push(wrap({ ...span, text: span.text.slice(from, start) }), button({ ...span, text: span.text.slice(start, end) }, capture, captured));
      from = end;
    }
    out.push(wrap(from === 0 ? span : { ...span, text: span.text.slice(from) }));
    at += length;
  }
  return <>{out}</>;
}

function button(span: Span, capture: Capture, { nameOf, onShow }: Captured): ComponentChildren {
  const values = { metric: nameOf(capture), value: formatExact(capture.value), step: String(capture.step ?? "") };
  const title = capture.step === undefined ? t("{metric} = {value}: show it in its chart", values) : t("{metric} = {value} at step {step}: show it in its chart", values);
  return (
    <button type="button" tabIndex={-1} class="captured" title={title} onClick={() => onShow(capture)}>
      {wrap(span)}
    </button>
  );
}

/** Where values stand in the text that is shown, in order. The server strips escapes as the page does; else nothing is marked. */
function placesOf(spans: readonly Span[], { text, captures }: LineCaptures): { range: Range; capture: Capture }[] {
  const shown = sourceOf(spans);
  const skipped = text.length - shown.length;
  if (captures.length === 0 || (!text.endsWith(shown) && !text.startsWith(shown))) return [];
  const offset = text.endsWith(shown) ? skipped : 0;
  return captures
    .filter((capture) => capture.value !== undefined && capture.end > capture.start)
    .sort((a, b) => a.start - b.start)
    .map((capture) => {
      const [[start = 0, end = 0] = []] = rangesFromBytes(text, [[capture.start, capture.end]]);
      return { capture, range: [start - offset, end - offset] as const };
    });
}
