import { t, tx } from "../../i18n/i18n";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, FAILED, isAbort, send, type Problem } from "../../api/client";
import type { PoolMatchReply, PoolNear } from "../../api/types";
import { cutMiddle } from "../../lib/text/format";
import { formatLeft, groupNear } from "../../lib/jobs/pools";
import { jobHref } from "../../lib/url/url";
import { now } from "../../state/core/clock";

const EXAMPLE = `{
  "TrainingJobName": "next",
  "RoleArn": "arn:aws:iam::123456789012:role/train",
  "ResourceConfig": { "InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4, "VolumeSizeInGB": 50 }
}`;

/** What CreateTrainingJob is called with, tried against the pools that wait. */
export function MatchForm() {
  const text = useSignal("");
  const said = useSignal<PoolMatchReply | null>(null);
  const problem = useSignal<Problem | null>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);

  const ask = async (): Promise<void> => {
    abort.current?.abort();
    const own = (abort.current = new AbortController());
    said.value = problem.value = null;
    try {
      const document: unknown = JSON.parse(text.value);
      const reply = await send("POST", "warm-pools/match", {}, document, own.signal);
      said.value = (await reply.json()) as PoolMatchReply;
    } catch (error) {
      if (!isAbort(error)) problem.value = asProblem(error);
    }
  };

  const failed = problem.value;
  return (
    <form
      class="poolmatch"
      id="poolmatch"
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      <label for="matchdoc">{t("The job's document, as CreateTrainingJob takes it")}</label>
      <textarea
        id="matchdoc"
        rows={8}
        spellcheck={false}
        placeholder={EXAMPLE}
        value={text}
        aria-invalid={failed !== null}
        aria-describedby="matchsaid"
        onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && void ask()}
      />
      <button type="submit" class="primary" disabled={text.value.trim() === ""} title="Ctrl+Enter">
        {t("Try it")}
      </button>
      <div id="matchsaid" class="said" role="status">
        {failed && (
          <p class="bad">
            {failed.status === FAILED ? t("This is not JSON") : failed.title}
            {failed.detail && `: ${failed.detail}`}
          </p>
        )}
        {said.value && <Answer reply={said.value} />}
      </div>
    </form>
  );
}

function Answer({ reply: { match, near } }: { reply: PoolMatchReply }) {
  if (match)
    return (
      <p>
        <span class="completed">
          <span class="glyph" aria-hidden="true">
            ✓
          </span>
        </span>
        {tx("It would start on {pool}, which {job} left; {time} are left.", {
          pool: <b>{t("pool {n}", { n: match.pool })}</b>,
          job: <Job name={match.job} />,
          time: formatLeft(match.expires_ms - now.value),
        })}
      </p>
    );
  if (near.length === 0) return <p>{t("No pool waits at this moment, so it would start cold.")}</p>;
  return (
    <>
      <p>
        <span class="failed">
          <span class="glyph" aria-hidden="true">
            ✕
          </span>
        </span>
        {t("No pool that waits is what it asks for. What stops it, nearest first:")}
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{t("pool")}</th>
              <th scope="col">{t("field")}</th>
              <th scope="col">{t("wanted")}</th>
              <th scope="col">{t("has")}</th>
            </tr>
          </thead>
          {groupNear(near).map((fields) => (
            <Near key={fields[0]?.pool} fields={fields} />
          ))}
        </table>
      </div>
    </>
  );
}

function Near({ fields }: { fields: PoolNear[] }) {
  return (
    <tbody>
      {fields.map((one, i) => (
        <tr key={one.field}>
          {i === 0 && (
            <th scope="rowgroup" rowSpan={fields.length}>
              {tx("{pool} of {job}", { pool: one.pool, job: <Job name={one.job} /> })}
            </th>
          )}
          <td class="mono">{one.field}</td>
          <td class="mono">{one.wanted || <span class="dim">{t("nothing")}</span>}</td>
          <td class="mono">{one.has || <span class="dim">{t("nothing")}</span>}</td>
        </tr>
      ))}
    </tbody>
  );
}

function Job({ name }: { name: string }) {
  return (
    <a href={jobHref(name)} title={name}>
      {cutMiddle(name, 32)}
    </a>
  );
}
