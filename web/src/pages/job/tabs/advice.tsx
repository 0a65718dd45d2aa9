import { jobPath, send } from "../../../api/client";
import type { Severity } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import { Resource } from "../../../state/core/resource";
import { useStore } from "../../../state/core/store";
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

class AdviceStore extends Resource<AdviceReply> {
  constructor(private readonly name: string) {
    super(jobPath(name, "/advice"));
  }

  async mute(rules: string[]): Promise<void> {
    const reply = await this.request(() => send("PATCH", jobPath(this.name), {}, { muted_advice: rules.length > 0 ? rules : null }));
    if (reply) await this.load();
  }
}

const ruleOf = (one: Advice | string): string => (typeof one === "string" ? one : one.rule);
const wordsOf = (one: Advice | string): string => (typeof one === "string" ? one.replaceAll("_", " ") : one.text);

/** What to change of the job, each piece with its reason and where that is written. */
export function AdvicePart({ store }: { store: JobStore }) {
  const own = useStore(() => new AdviceStore(store.name), [store], (next) => next.load());
  const reply = own?.value.value;
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
              <a href={one.source} title={`${one.rule}: ${one.field}`}>
                {t("source")}
              </a>{" "}
              <button type="button" class="quiet" onClick={() => void own?.mute([...new Set([...muted, one.rule])])}>
                {t("not for this job")}
              </button>
            </p>
          </li>
        ))}
      </ul>
      {muted.length > 0 && (
        <p class="dim">
          {t("Muted for this job: {rules}", { rules: (reply?.muted ?? []).map(wordsOf).join("; ") })}{" "}
          <button type="button" class="quiet" onClick={() => void own?.mute([])}>
            {t("unmute all")}
          </button>
        </p>
      )}
    </div>
  );
}
