import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { adoptStyle } from "../../lib/jobs/adopt";
import { cutMiddle } from "../../lib/text/format";
import { parsePlace, placeOf } from "../../lib/url/place";
import { query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { Workbench, type Sample } from "../../state/job/workbench";
import "../../styles/charts";
import style from "../../styles/workbench.css?inline";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { JobTabs } from "../job/tabs/tabs";
import { BackfillBar } from "./backfill";
import { Lines } from "./lines";
import { Propose } from "./propose";
import { SaveBar } from "./savebar";
import { Source } from "./source";
import { Table } from "./table";

adoptStyle(style);

export function DefinitionsPage({ name }: { name: string }) {
  const bench = useStore(() => new Workbench(name), [name], (next) => next.start());
  return (
    <div class="bench">
      <header class="jobhead">
        <h1 title={name}>{cutMiddle(name, 72)}</h1>
        <JobTabs name={name} part="definitions" />
        <span class="grow" />
      </header>
      {bench && <Content bench={bench} />}
    </div>
  );
}

function Content({ bench }: { bench: Workbench }) {
  const problem = bench.problem.value;
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => void bench.start()} />}
      {!bench.doc.value && !problem && <Skeleton rows={12} />}
      {bench.doc.value && <Loaded bench={bench} />}
    </>
  );
}

function Loaded({ bench }: { bench: Workbench }) {
  /** The row that one works on. */
  const chosen = useSignal<number | null>(bench.rows.peek()[0]?.id ?? null);
  /** null: the job's own lines. */
  const pasted = useSignal<string | null>(null);
  const streams = bench.streams.value;
  // Lines that come must not move the page that is looked at.
  const [opened, setOpened] = useState(streams);
  useEffect(() => {
    if (!opened && streams) setOpened(streams);
  }, [opened, streams]);
  const { stream, from } = placeOf(parsePlace(query.value), opened ?? streams);
  const rows = bench.rows.value;
  const text = pasted.value;
  const isReady = text !== null || streams !== null;
  const wanted = useComputed(() => bench.rows.value.map((row) => [row.Name, row.Regex, row.Step, row.Unit])).value;
  const key = JSON.stringify(wanted);

  useEffect(() => {
    const sample: Sample = text === null ? { stream, from } : { text };
    if (isReady) bench.try(sample, bench.trial.peek() !== null);
  }, [bench, isReady, stream, from, text, key]);

  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (bench.isDirty.value) event.preventDefault();
    };
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [bench]);

  const isGone = !rows.some((row) => row.id === chosen.value);
  useEffect(() => {
    if (isGone) chosen.value = rows[0]?.id ?? null;
  }, [isGone, rows, chosen]);

  return (
    <>
      <Source bench={bench} />
      <Propose bench={bench} />
      <Table bench={bench} chosen={chosen} />
      <SaveBar bench={bench} />
      <BackfillBar bench={bench} />
      <Lines bench={bench} chosen={chosen.value} pasted={pasted} place={{ stream, from }} />
    </>
  );
}
