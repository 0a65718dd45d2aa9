import { Component } from "preact";
import type { LineCapture, LogLine } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { formatCount, formatTime, type TimeMode } from "../../../lib/text/format";
import { formatStamp } from "../../../lib/text/stamp";
import type { Range } from "../../../lib/text/matches";
import type { FoldKind } from "../../../lib/log/traces";
import { byteLength, partKind, rowText } from "../../../lib/log/parts";
import { CapturedText, LineText } from "./linetext";

export interface RowActions {
  choose(n: number, isRange: boolean): void;
  toggleFold(head: number): void;
  togglePart(n: number): void;
  showPoint(n: number, metric: string): void;
}

interface RowProps {
  n: number;
  line: LogLine | undefined;
  ranges: readonly Range[];
  captures: readonly LineCapture[] | undefined;
  /** Lines that are folded behind this one, and whether they are shown all the same. */
  folded: number;
  foldKind: FoldKind | null;
  isUnfolded: boolean;
  isOpened: boolean;
  isGone: boolean;
  isChosen: boolean;
  isCurrent: boolean;
  startMs: number;
  timeMode: TimeMode;
  actions: RowActions;
}

/** A line. It is drawn anew only when something of it changed: most of what is seen stays while lines come. */
export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const [a, b] = [this.props as unknown as Record<string, unknown>, next as unknown as Record<string, unknown>];
    return Object.keys(b).some((key) => a[key] !== b[key]);
  }

  override render() {
    const { n, line, isGone, isChosen, isCurrent, startMs, timeMode, actions } = this.props;
    const name = line ? t("line {n}, {time}", { n, time: formatTime(line.ts_ms) }) : t("line {n}", { n });
    return (
      <div class={`line ${isChosen ? "chosen" : ""}`} id={`L${n}`} aria-current={isCurrent ? "true" : undefined}>
        <button type="button" tabIndex={-1} class="n" title={name} aria-label={name} onClick={(event) => actions.choose(n, event.shiftKey)}>
          {n}
        </button>
        {line && timeMode !== "hidden" && <time>{formatStamp(line.ts_ms, timeMode, startMs)}</time>}
        {line && this.badges(line)}
        <span class="text">
          {line && this.text(line)}
          {!line && isGone && <span class="cut">{t("deleted")}</span>}
          {line?.cut && (
            <span class="cut" title={t("The server keeps only the beginning of a line this long")}>
              {" "}
              {t("… cut")}
            </span>
          )}
        </span>
      </div>
    );
  }

  private text(line: LogLine) {
    const { n, ranges, captures, actions } = this.props;
    const text = rowText(line.text);
    // Of what is cut off in front the places are not known.
    if (!captures || !line.text.startsWith(text)) return <LineText text={text} ranges={ranges} />;
    return <CapturedText text={text} ranges={ranges} captures={captures} onShow={(metric) => actions.showPoint(n, metric)} />;
  }

  private badges(line: LogLine) {
    const { n, folded, foldKind, isUnfolded, isOpened, actions } = this.props;
    const kind = partKind(line.text);
    return (
      <>
        {folded > 0 && foldKind && (
          <button type="button" tabIndex={-1} class="badge" aria-expanded={isUnfolded} title={foldTitle(foldKind, folded)} onClick={() => actions.toggleFold(n)}>
            {foldKind === "repeat" ? `×${formatCount(folded + 1)}` : `⋯ ${formatCount(folded)}`}
          </button>
        )}
        {kind && (
          <button type="button" tabIndex={-1} class="badge" aria-expanded={isOpened} onClick={() => actions.togglePart(n)}>
            {kind === "states" ? t("bar") : kind === "json" ? "{ }" : tn(byteLength(line.text), "show all {n} byte", "show all {n} bytes")}
          </button>
        )}
      </>
    );
  }
}

function foldTitle(kind: FoldKind, count: number): string {
  if (kind === "repeat") return tn(count, "{n} further line says the same", "{n} further lines say the same");
  if (kind === "setup") return tn(count, "{n} further line of NCCL's account", "{n} further lines of NCCL's account");
  return tn(count, "{n} line of the stack", "{n} lines of the stack");
}

/** A row below a line that was opened. */
export function PartRow({ text }: { text: string }) {
  return (
    <div class="line part">
      <span class="text">
        <LineText text={text} ranges={[]} />
      </span>
    </div>
  );
}
