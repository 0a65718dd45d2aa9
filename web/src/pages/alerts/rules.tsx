// Which incidents are told to whom, and when; conditions of one's own. What a rule would have done is seen before it is saved.
import type { Rule } from "../../api/alerts";
import { say, t, tn } from "../../i18n/i18n";
import { formatDuration } from "../../lib/text/format";
import { kindTitle } from "../../lib/chart/marks";
import { Editable } from "../../state/core/editable";
import { hearIncidents } from "../../state/job/hearincidents";
import { useKeys } from "../../state/core/keys";
import { patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { ProblemBox } from "../../ui/problem";
import { DataTable } from "../../ui/datatable";
import { Skeleton } from "../../ui/skeleton";
import { mayChange, type Rules } from "./editables";
import { RuleForm } from "./ruleform";

export function RulesView() {
  const rules = useStore((): Rules => new Editable("rules"), [], (next) => void Promise.all([hearIncidents(), next.load()]));
  return rules && <Content rules={rules} />;
}

function Content({ rules }: { rules: Rules }) {
  const rows = rules.rows.value;
  const problem = rules.problem.value;
  const chosen = query.value["id"] ?? "";
  const rule = rows?.find((one) => String(one.id) === chosen);
  useKeys(say("Rules"), [{ on: "Escape", does: say("close the rule"), run: () => chosen !== "" && (patchQuery({ id: undefined }), true) }]);
  return (
    <>
      <div class="toolbar">
        <span class="dim">{t("The newest rule that matches an incident wins; the first one matches everything.")}</span>
        <span class="grow" />
        {mayChange() && (
          <button type="button" class="primary" onClick={() => patchQuery({ id: "new" })}>
            {t("New rule")}
          </button>
        )}
      </div>
      {problem && <ProblemBox problem={problem} onRetry={() => void rules.load()} />}
      {!rows && !problem && <Skeleton rows={4} />}
      {rows && (
        <div class={chosen ? "alerts chosen" : "alerts"}>
          <div class="alertlist">
            <Table rows={rows} chosen={chosen} />
          </div>
          {(rule || chosen === "new") && <RuleForm key={chosen} rules={rules} rule={rule ?? null} />}
        </div>
      )}
    </>
  );
}

function Table({ rows, chosen }: { rows: readonly Rule[]; chosen: string }) {
  const isChosen = (one: Rule): boolean => String(one.id) === chosen;
  return (
    <DataTable
      class="jobs"
      rows={rows}
      keyOf={(rule) => rule.id}
      rowClass={(rule) => `${rule.enabled ? "" : "past"} ${isChosen(rule) ? "chosen" : ""}`}
      columns={[
        {
          title: t("rule"),
          cell: (rule) => (
            <>
              <a href={`/rules?id=${rule.id}`} aria-current={isChosen(rule) ? "true" : undefined}>
                <bdi>{rule.name}</bdi>
              </a>
              {!rule.enabled && <span class="dim"> {t("off")}</span>}
            </>
          ),
        },
        { title: t("takes"), cell: (rule) => (rule.expression ? <code>{rule.expression}</code> : takes(rule)) },
        { title: t("of jobs"), cellClass: "mono", cell: (rule) => rule.query || t("all") },
        { title: t("tells"), cell: tells },
        { cell: () => null },
      ]}
    />
  );
}

function takes(rule: Rule): string {
  const kinds = rule.kinds.length === 0 ? t("everything that is noticed") : rule.kinds.map(kindTitle).join(", ");
  return rule.minimum_severity === "info" ? kinds : t("{kinds}, {severity} and above", { kinds, severity: t(rule.minimum_severity) });
}

function tells(rule: Rule): string {
  if (!rule.tell) return t("nobody");
  const parts = [rule.webhooks === "all" ? t("every webhook") : tn(rule.webhooks.length, "{n} webhook", "{n} webhooks")];
  if (rule.exclusive) parts.push(t("and no others"));
  if (rule.persistence_s) parts.push(t("after {time}", { time: formatDuration(rule.persistence_s) }));
  if (rule.quiet) parts.push(t("not from {from} to {to}", { from: rule.quiet.from, to: rule.quiet.to }));
  if (rule.command) parts.push(t("and asks for {command}", { command: rule.command }));
  return parts.join(" · ");
}
