import { useSignal } from "@preact/signals";
import { locale, t, tn, tx } from "../../i18n/i18n";
import { formatBytes, parseBytes } from "../../lib/text/bytes";
import { formatCount, NONE } from "../../lib/text/format";
import { goneByAge, goneBySpace, type Going } from "../../lib/jobs/retention";
import { serverNow } from "../../lib/flow/skew";
import { jobHref } from "../../lib/url/url";
import { Confirm } from "../../ui/confirm";
import type { Limits, Part, Retention } from "./parts";
import { PartSection } from "./section";

const SHOWN = 5;
const DAY_MS = 86_400_000;

interface Change {
  body: Record<string, number | string>;
  going: Going;
}

export function RetentionLimits({ part }: { part: Part<Retention> }) {
  const doc = part.value.value;
  const asked = useSignal<Change | null>(null);
  const put = (body: Change["body"]): void => void part.change("PUT", "", body, t("The limits are kept"));
  const ask = (change: Change): void => {
    if (change.going.jobs.length > 0) asked.value = change;
    else put(change.body);
  };
  return (
    <PartSection part={part} id="retention" title={t("Retention")}>
      {doc && (
        <>
          <p class="dim">{t("Limits delete the text of logs, oldest jobs that have ended first. Points, incidents and settings stay. Pinned jobs keep their text.")}</p>
          <Forecast doc={doc} />
          <SpaceForm doc={doc} onAsk={ask} />
          <AgeForms doc={doc} onAsk={ask} />
          {asked.value && <Asking change={asked.value} onYes={put} onClose={() => (asked.value = null)} />}
        </>
      )}
    </PartSection>
  );
}

function Asking({ change, onYes, onClose }: { change: Change; onYes: (body: Change["body"]) => void; onClose: () => void }) {
  const { jobs, isMore } = change.going;
  const bytes = jobs.reduce((sum, job) => sum + job.stored_bytes, 0);
  return (
    <Confirm title={t("Delete the text of logs?")} action={t("Set the limit and delete")} onYes={() => onYes(change.body)} onClose={onClose}>
      <p>
        {tn(jobs.length, "With this limit the log text of {n} job goes now, about {size}.", "With this limit the log text of {n} jobs goes now, about {size}.", { size: formatBytes(bytes) })}
        {isMore && ` ${t("More may go than these.")}`} {t("It cannot be had back.")}
      </p>
      <ul>
        {jobs.slice(0, SHOWN).map((job) => (
          <li key={job.job}>
            <bdi>{job.job}</bdi> <span class="dim">{formatBytes(job.text_bytes)}</span>
          </li>
        ))}
        {jobs.length > SHOWN && <li class="dim">{t("and {n} more", { n: formatCount(jobs.length - SHOWN) })}</li>}
      </ul>
    </Confirm>
  );
}

function whenFull(days: number): string {
  const date = new Intl.DateTimeFormat(locale(), { dateStyle: "long" }).format(serverNow() + days * DAY_MS);
  return tn(Math.floor(days), "The limit is reached in about {n} day, on {date}.", "The limit is reached in about {n} days, on {date}.", { date });
}

function Forecast({ doc }: { doc: Retention }) {
  const { log_bytes: limit, used_bytes: used, forecast } = doc;
  const growth = forecast.growth_bytes_a_day;
  const [first] = forecast.next;
  return (
    <>
      {limit > 0 && <meter min={0} max={limit} high={limit * 0.9} value={Math.min(used ?? 0, limit)} aria-label={t("Used of the limit")} />}
      <ul class="facts">
        <li>{used === null ? NONE : limit > 0 ? t("{used} of {limit} used", { used: formatBytes(used), limit: formatBytes(limit) }) : t("{used} used, no limit", { used: formatBytes(used) })}</li>
        {doc.disk_free_bytes !== null && <li>{t("{free} free on the disk", { free: formatBytes(doc.disk_free_bytes) })}</li>}
        <li>{growth === undefined ? t("How fast it grows is known after a day.") : growth > 0 ? t("Grows by {size} a day", { size: formatBytes(growth) }) : t("Does not grow")}</li>
        {forecast.days_left !== undefined && <li>{whenFull(forecast.days_left)}</li>}
        {first && <li>{tx("The first to go: {job}", { job: <a href={jobHref(first.job)}><bdi>{first.job}</bdi></a> })}</li>}
      </ul>
    </>
  );
}

function SpaceForm({ doc, onAsk }: { doc: Retention; onAsk: (change: Change) => void }) {
  const text = useSignal<string | null>(null);
  const shown = text.value ?? (doc.log_bytes > 0 ? formatBytes(doc.log_bytes) : "");
  const bytes = shown.trim() === "" ? 0 : parseBytes(shown);
  return (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault();
        if (bytes === null) return;
        onAsk({ body: { log_bytes: bytes }, going: goneBySpace(doc.forecast.next, doc.used_bytes ?? 0, bytes) });
        text.value = null;
      }}
    >
      <label>
        {t("The whole database may use (empty: no limit)")}
        <input type="text" value={shown} placeholder="20 GiB" aria-invalid={bytes === null} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={bytes === null || bytes === doc.log_bytes}>
        {t("Set")}
      </button>
    </form>
  );
}

/** The server's own limits, those of each team that has some, and a row for another team. */
function AgeForms({ doc, onAsk }: { doc: Retention; onAsk: (change: Change) => void }) {
  const name = useSignal("");
  return (
    <div class="scrolls" tabIndex={0} role="group" aria-label={t("Retention")}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("whose text")}</th>
            <th scope="col">{t("kept for")}</th>
            <th scope="col">{t("a job's at most")}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          <LimitRow key="" doc={doc} limits={doc} onAsk={onAsk} label={t("all")}>
            {t("all")}
          </LimitRow>
          {doc.teams.map((team) => (
            <LimitRow key={`team ${team.team}`} doc={doc} limits={team} team={team.team} onAsk={onAsk} label={team.team}>
              <bdi>{team.team}</bdi>
            </LimitRow>
          ))}
          <LimitRow key={`new ${doc.teams.length}`} doc={doc} limits={{}} team={name.value.trim() || null} onAsk={onAsk} label={t("another team")}>
            <input type="text" placeholder={t("another team")} aria-label={t("another team")} value={name} onInput={(event) => (name.value = event.currentTarget.value)} />
          </LimitRow>
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  doc: Retention;
  limits: Limits;
  /** undefined: everybody's; null: not named yet. */
  team?: string | null;
  label: string;
  children: preact.ComponentChildren;
  onAsk: (change: Change) => void;
}

function LimitRow({ doc, limits, team, label, children, onAsk }: RowProps) {
  const days = useSignal(limits.max_age_days === undefined ? "" : String(limits.max_age_days));
  const size = useSignal(limits.max_bytes === undefined ? "" : formatBytes(limits.max_bytes));
  const dayCount = days.value.trim() === "" ? 0 : Number(days.value);
  const bytes = size.value.trim() === "" ? 0 : parseBytes(size.value);
  const isWrong = !(dayCount >= 0) || bytes === null;
  const isSame = dayCount === (limits.max_age_days ?? 0) && bytes === (limits.max_bytes ?? 0);
  const set = (): void => {
    if (bytes === null || team === null) return;
    const body = { max_age_days: dayCount, max_bytes: bytes, ...(team === undefined ? {} : { team }) };
    onAsk({ body, going: goneByAge(doc.forecast.next, dayCount, serverNow()) });
  };
  return (
    <tr>
      <th scope="row">{children}</th>
      <td>
        <input class="short" type="text" inputmode="decimal" placeholder={t("ever")} value={days} aria-invalid={!(dayCount >= 0)} aria-label={t("Days that the text of {name} is kept", { name: label })} onInput={(event) => (days.value = event.currentTarget.value)} />{" "}
        {t("days")}
      </td>
      <td>
        <input class="short" type="text" placeholder={t("any size")} value={size} aria-invalid={bytes === null} aria-label={t("Size of a job's text, of {name}", { name: label })} onInput={(event) => (size.value = event.currentTarget.value)} />
      </td>
      <td>
        <button type="button" disabled={isWrong || isSame || team === null} onClick={set} aria-label={t("Set the limits of {name}", { name: label })}>
          {t("Set")}
        </button>
      </td>
    </tr>
  );
}
