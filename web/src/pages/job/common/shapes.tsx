import { t, tn } from "../../../i18n/i18n";
import type { Definition } from "../../../api/types";
import { SERIES_COLORS } from "../../../lib/chart/color";
import { adoptStyle } from "../../../lib/jobs/adopt";
import { backfillShare } from "../../../lib/jobs/backfill";
import { paintLine } from "../../../lib/log/captures";
import { formatCount } from "../../../lib/text/format";
import { collapseNumbers } from "../../../lib/text/numberpattern";
import { jobHref } from "../../../lib/url/url";
import { Proposals, type Shape } from "../../../state/job/proposals";
import { useStore } from "../../../state/core/store";
import style from "../../../styles/shapes.css?inline";
import { ProblemBox } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";

adoptStyle(style);

/** The most promising shapes of line, each with definitions that one click puts into the job. */
export function Shapes({ job, onUsed, says }: { job: string; onUsed?: () => void; says?: string }) {
  const store = useStore(() => new Proposals(job), [job], (next) => next.load());
  const reply = store?.reply.value;
  const problem = store?.problem.value;
  if (!store) return null;
  return (
    <section class="shapes" aria-label={t("Lines with numbers")}>
      {problem && <ProblemBox problem={problem} onRetry={() => void store.load()} />}
      <Outcome store={store} />
      {!reply && !problem && <Skeleton rows={4} />}
      {reply && reply.shapes.length === 0 && (
        <p class="dim">
          {reply.lines_needed ? t("Once {n} lines have come, those with numbers are looked for here.", { n: formatCount(reply.lines_needed) }) : says}
        </p>
      )}
      {reply && reply.shapes.length > 0 && (
        <>
          <h3>{t("Lines with numbers")}</h3>
          <p>
            {tn(reply.lines_read, "Among the {n} line looked at, these are the shapes whose numbers vary most.", "Among the {n} lines looked at, these are the shapes whose numbers vary most.")}{" "}
            {t("Use puts the definitions into the job, keeps those that work, and reads the whole log again.")}
          </p>
          <ol>
            {reply.shapes.map((shape, i) => (
              <ShapeView key={i} store={store} shape={shape} index={i} stream={reply.stream} onUsed={onUsed} />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

interface ShapeProps {
  store: Proposals;
  shape: Shape;
  index: number;
  stream: string;
  onUsed: (() => void) | undefined;
}

function ShapeView({ store, shape, index, stream, onUsed }: ShapeProps) {
  const names = shape.definitions.map((one) => one.Name);
  const isBusy = store.isAsking.value || store.backfill.value?.state === "running";
  const use = async (): Promise<void> => {
    if (await store.use(index)) onUsed?.();
  };
  return (
    <li>
      <div class="shapehead">
        <b class="num">{tn(shape.count, "{n} line", "{n} lines")}</b>
        <a class="num" href={jobHref(store.name, { stream, line: String(shape.line) })}>
          {t("line {n} in the log", { n: shape.line })}
        </a>
        <span class="grow" />
        <button type="button" class={index === 0 ? "primary" : ""} disabled={isBusy} aria-label={t("Use {names}", { names: names.join(", ") })} onClick={() => void use()}>
          {t("Use")}
        </button>
      </div>
      <p class="example mono" tabIndex={0} role="group" aria-label={t("An example, with its numbers marked")}>
        {paintLine(shape, names).map((piece, i) =>
          piece.kind === null ? (
            piece.text
          ) : (
            <mark key={i} class={`${piece.kind} s${piece.definition % SERIES_COLORS}`} title={piece.title}>
              {piece.text}
            </mark>
          ),
        )}
      </p>
      <ul>
        {shape.definitions.map((definition, i) => (
          <DefinitionView key={definition.Name} definition={definition} color={i % SERIES_COLORS} />
        ))}
        {shape.definitions[0]?.Step && (
          <li>
            <span class="dim">{t("step")}</span> <code>{collapseNumbers(shape.definitions[0].Step)}</code>
          </li>
        )}
      </ul>
      {store.used.value === index && <Progress store={store} />}
    </li>
  );
}

function DefinitionView({ definition: { Name, Regex, Role, Unit }, color }: { definition: Definition; color: number }) {
  return (
    <li>
      <i class={`swatch s${color}`} aria-hidden="true" /> <b>{Name}</b>
      {(Role || Unit) && <span class="dim"> {[Role, Unit].filter(Boolean).join(", ")}</span>} <code>{collapseNumbers(Regex)}</code>
    </li>
  );
}

function Progress({ store }: { store: Proposals }) {
  const backfill = store.backfill.value;
  const share = backfill && backfillShare(backfill);
  return (
    <p role="status">
      {t("The whole log is read again.")}
      {share !== null && ` ${Math.floor(share * 100)} %`}
    </p>
  );
}

/** Where curves appear, nobody needs to be told. */
function Outcome({ store }: { store: Proposals }) {
  const { state, error } = store.backfill.value ?? {};
  if (!state || state === "running") return null;
  return (
    <p role={state === "failed" ? "alert" : "status"}>
      {state === "done" && t("The whole log was read again.")}
      {state === "cancelled" && t("The back-fill was cancelled.")}
      {state === "failed" && `${t("The last back-fill failed.")} ${error ?? ""}`}
    </p>
  );
}
