import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { asProblem, getJson, isAbort, jobPath, send, type Problem } from "../../../api/client";
import type { Severity } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import type { JobStore } from "../../../state/job/job";
import { ProblemBox } from "../../../ui/problem";
import { SeverityMark } from "../../../ui/severity";
import { Skeleton } from "../../../ui/skeleton";

interface Advice {
  rule: string;
  severity: Severity;
  field: string;
  text: string;
  reason: string;
  source: string;
}

interface AdviceReply {
  advice: Advice[];
  muted?: (Advice | string)[];
}

class AdviceStore {
  readonly reply = signal<AdviceReply | null>(null);
  readonly problem = signal<Problem | null>(null);
  private readonly abort = new AbortController();

  constructor(private readonly name: string) {}

  async load(): Promise<void> {
    try {
      this.reply.value = await getJson<AdviceReply>(jobPath(this.name, "/advice"), {}, this.abort.signal);
      this.problem.value = null;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  async mute(rules: string[]): Promise<void> {
    try {
      await send("PATCH", jobPath(this.name), {}, { muted_advice: rules.length > 0 ? rules : null });
      await this.load();
    } catch (error) {
      this.problem.value = asProblem(error);
    }
  }

  stop(): void {
    this.abort.abort();
  }
}

const ruleOf = (one: Advice | string): string => (typeof one === "string" ? one : one.rule);

/** What to change of the job, each piece with its reason and where that is written. */
export function AdvicePart({ store }: { store: JobStore }) {
  const [own, setOwn] = useState<AdviceStore | null>(null);
  useEffect(() => {
    const next = new AdviceStore(store.name);
    setOwn(next);
    void next.load();
    return () => next.stop();
  }, [store]);
  const reply = own?.reply.value;
  const muted = (reply?.muted ?? []).map(ruleOf);
  return (
    <div class="report">
      {own?.problem.value && <ProblemBox problem={own.problem.value} onRetry={() => void own.load()} />}
      {!reply && !own?.problem.value && <Skeleton rows={4} />}
      {reply?.advice.length === 0 && <p class="dim">{t("There is nothing to advise: no rule finds fault with what is known of this job.")}</p>}
      <ul class="advice">
        {reply?.advice.map((one) => (
          <li key={one.rule}>
            <h2>
              <SeverityMark severity={one.severity} /> <span lang="en">{one.text}</span>
            </h2>
            <p lang="en">{one.reason}</p>
            <p class="dim">
              <code>{one.field}</code> · <a href={one.source}>{t("source")}</a> · {one.rule}{" "}
              <button type="button" class="quiet" onClick={() => void own?.mute([...new Set([...muted, one.rule])])}>
                {t("not for this job")}
              </button>
            </p>
          </li>
        ))}
      </ul>
      {muted.length > 0 && (
        <p class="dim">
          {t("Muted for this job: {rules}", { rules: muted.join(", ") })}{" "}
          <button type="button" class="quiet" onClick={() => void own?.mute([])}>
            {t("unmute all")}
          </button>
        </p>
      )}
    </div>
  );
}
