import { say, t } from "../../i18n/i18n";
import { useSignal, type Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { TrialLine } from "../../api/types";
import { chooseLines, paintLine, parseShow, type Paint, type Show } from "../../lib/log/captures";
import { SERIES_COLORS } from "../../lib/chart/color";
import { formatCount } from "../../lib/text/format";
import { expandNumbers } from "../../lib/text/numberpattern";
import { lastPage, PAGE_LINES, pageAround, turn } from "../../lib/url/place";
import { jobHref } from "../../lib/url/url";
import { patchQuery, query } from "../../state/core/router";
import type { Trial, Workbench } from "../../state/job/workbench";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Preview } from "./preview";

interface Props {
  bench: Workbench;
  chosen: number | null;
  pasted: Signal<string | null>;
  place: { stream: string | null; from: number };
}

const SHOWS: readonly [Show, string][] = [["all", say("all")], ["matching", say("matching")], ["other", say("others")]];

/** The lines, with what the definitions capture tinted in place. */
export function Lines({ bench, chosen, pasted, place }: Props) {
  const trial = bench.trial.value;
  const show = parseShow(query.value["show"]);
  const isOnlyChosen = query.value["of"] === "chosen";
  const index = chosen === null ? -1 : (trial?.rowIds.indexOf(chosen) ?? -1);
  const shown = trial ? chooseLines(trial.lines, show, isOnlyChosen && index >= 0 ? index : null) : [];
  const problem = bench.trialProblem.value;
  const definition = bench.rows.value.find((row) => row.id === chosen);
  const isPasted = pasted.value !== null;
  return (
    <div class="tried">
      <section class="triedlines" aria-label={t("Lines")}>
        <div class="toolbar" role="toolbar" aria-label={t("Lines")}>
          <div class="segments" role="group" aria-label={t("Whose lines")}>
            <button type="button" aria-pressed={!isPasted} onClick={() => (pasted.value = null)}>
              {t("stored")}
            </button>
            <button type="button" aria-pressed={isPasted} onClick={() => (pasted.value ??= "")}>
              {t("pasted")}
            </button>
          </div>
          {!isPasted && <PlaceTools bench={bench} place={place} regex={definition?.Regex ?? ""} />}
          <span class="grow" />
          <div class="segments" role="group" aria-label={t("Which lines")}>
            {SHOWS.map(([value, text]) => (
              <button key={value} type="button" aria-pressed={show === value} onClick={() => patchQuery({ show: value === "all" ? undefined : value }, true)}>
                {t(text)}
              </button>
            ))}
          </div>
          <label title={t("Matching means: by the definition whose row is chosen")}>
            <input type="checkbox" checked={isOnlyChosen} onChange={() => patchQuery({ of: isOnlyChosen ? undefined : "chosen" }, true)} /> {t("of the chosen")}
          </label>
          <span class="dim count" role="status">
            {trial && `${t("{n} of {all}", { n: formatCount(shown.length), all: formatCount(trial.lines.length) })}${bench.isTrying.value ? " …" : ""}`}
          </span>
        </div>
        {isPasted && (
          <textarea
            class="mono pasted"
            aria-label={t("Lines to try")}
            placeholder={t("Paste lines of any log here")}
            spellcheck={false}
            value={pasted.value ?? ""}
            onInput={(event) => (pasted.value = event.currentTarget.value)}
          />
        )}
        {problem && <ProblemBox problem={problem} onRetry={() => bench.try(isPasted ? { text: pasted.value ?? "" } : place, false)} />}
        {!trial && !problem && <Skeleton rows={8} />}
        {trial?.partial && <p class="note">{t("Time ran out: the lines behind the last one shown were not tried. One of the expressions is slow.")}</p>}
        {trial && <Rows bench={bench} trial={trial} shown={shown} chosen={index} stream={isPasted ? null : place.stream} show={show} />}
      </section>
      <Preview trial={trial} index={index} name={definition?.Name ?? ""} color={colorOf(bench, chosen)} />
    </div>
  );
}

const colorOf = (bench: Workbench, id: number | null | undefined): number =>
  Math.max(0, bench.rows.value.findIndex((row) => row.id === id)) % SERIES_COLORS;

function PlaceTools({ bench, place, regex }: { bench: Workbench; place: Props["place"]; regex: string }) {
  const streams = bench.streams.value ?? [];
  const typed = useSignal("");
  const total = streams.find((one) => one.stream === place.stream)?.lines ?? 0;
  const go = (from: number | null): void => {
    if (from !== null) patchQuery({ from: String(from) });
  };
  const found = useSignal("");
  const find = async (): Promise<void> => {
    found.value = "";
    const line = await bench.lastMatch(expandNumbers(regex), place.stream);
    if (line === null) found.value = t("no match in this stream");
    else go(pageAround(line));
  };
  const earlier = turn(place.from, total, -1);
  const later = turn(place.from, total, 1);
  return (
    <>
      <label>
        <span class="hidden">{t("Stream")}</span>
        <select value={place.stream ?? ""} disabled={streams.length === 0} onChange={(event) => patchQuery({ stream: event.currentTarget.value, from: undefined })}>
          {place.stream !== null && !streams.some((one) => one.stream === place.stream) && <option value={place.stream}>{place.stream}</option>}
          {streams.map(({ stream }) => (
            <option key={stream} value={stream}>
              {stream}
            </option>
          ))}
        </select>
      </label>
      <button type="button" disabled={earlier === null} aria-label={t("First lines")} title={t("First lines")} onClick={() => go(0)}>
        ⇤
      </button>
      <button type="button" disabled={earlier === null} onClick={() => go(earlier)}>
        {t("earlier")}
      </button>
      <form
        class="goto"
        onSubmit={(event) => {
          event.preventDefault();
          const line = Number(typed.value.replaceAll(",", ""));
          if (typed.value.trim() === "" || !Number.isInteger(line) || line < 0) return;
          typed.value = "";
          go(Math.min(line, Math.max(0, total - 1)));
        }}
      >
        <input
          type="text"
          inputMode="numeric"
          class="line"
          aria-label={t("Go to line")}
          autocomplete="off"
          placeholder={`${formatCount(place.from)} – ${formatCount(Math.max(place.from, Math.min(total, place.from + PAGE_LINES) - 1))}`}
          value={typed}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
        <span class="dim"> {t("of {n}", { n: formatCount(total) })}</span>
      </form>
      <button type="button" disabled={later === null} onClick={() => go(later)}>
        {t("later")}
      </button>
      <button type="button" disabled={later === null} aria-label={t("Last lines")} title={t("Last lines")} onClick={() => go(lastPage(total))}>
        ⇥
      </button>
      <button type="button" disabled={regex === "" || place.stream === null} title={t("The newest line of this stream that the chosen definition matches")} onClick={() => void find()}>
        {t("last match")}
      </button>
      <span class="dim" role="status">
        {found}
      </span>
    </>
  );
}

interface RowsProps {
  bench: Workbench;
  trial: Trial;
  shown: TrialLine[];
  chosen: number;
  /** null: pasted lines, which stand in no log. */
  stream: string | null;
  show: Show;
}

function Rows({ bench, trial, shown, chosen, stream, show }: RowsProps) {
  const rows = bench.rows.value;
  const names = trial.rowIds.map((id) => rows.find((row) => row.id === id)?.Name ?? "");
  const nameKey = names.join("\n");
  const painted = useMemo(() => new Map(trial.lines.map((line) => [line.index, paintLine(line, names)])), [trial, nameKey]);
  const colors = trial.rowIds.map((id) => colorOf(bench, id));
  if (shown.length === 0) {
    const why = trial.lines.length === 0 ? (stream === null ? t("Nothing to try yet.") : t("This stream has no lines here.")) : show === "matching" ? t("None of these lines match.") : t("All of these lines match.");
    return <p class="nolines">{why}</p>;
  }
  return (
    <div class="trylines" tabIndex={0} role="region" aria-label={t("Lines with what is captured")}>
      {shown.map((line) => (
        <div key={line.index} class="tryline">
          <LineNumber job={bench.name} stream={stream} n={(trial.from ?? 1) + line.index} />
          <span class="text">
            {(painted.get(line.index) ?? []).map((piece, i) => (
              <Piece key={i} piece={piece} color={colors[piece.definition] ?? 0} isChosen={piece.definition === chosen} />
            ))}
          </span>
        </div>
      ))}
    </div>
  );
}

function LineNumber({ job, stream, n }: { job: string; stream: string | null; n: number }) {
  if (stream === null) return <span class="n">{n}</span>;
  return (
    <a class="n" tabIndex={-1} href={jobHref(job, { stream, line: String(n) })} title={t("line {n} in the log", { n })}>
      {n}
    </a>
  );
}

function Piece({ piece, color, isChosen }: { piece: Paint; color: number; isChosen: boolean }) {
  if (piece.kind === null) return <>{piece.text}</>;
  return (
    <mark class={`${piece.kind} s${color} ${isChosen ? "chosen" : ""}`} title={piece.title}>
      {piece.text}
    </mark>
  );
}
