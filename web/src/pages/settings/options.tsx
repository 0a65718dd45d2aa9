import { useSignal } from "@preact/signals";
import { t } from "../../i18n/i18n";
import { formatBytes } from "../../lib/text/bytes";
import { formatCount, formatDuration, NONE } from "../../lib/text/format";
import { DataTable } from "../../ui/datatable";
import type { Option, Part } from "./parts";
import { PartSection } from "./section";

function textOf({ kind, value }: Option): string {
  if (value === undefined) return NONE;
  if (Array.isArray(value)) return value.join("\n");
  if (kind === "bytes") return formatBytes(Number(value));
  if (kind === "milliseconds") return Number(value) < 1000 ? `${value} ms` : formatDuration(Number(value) / 1000);
  return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}

/** What the server was started with, and where each value comes from. They are changed where they come from, and by a start. */
export function Options({ part }: { part: Part<{ options: Option[] }> }) {
  const all = part.value.value?.options ?? [];
  const areAllShown = useSignal(false);
  const search = useSignal("");
  const words = search.value.trim().toLowerCase();
  const isFound = (option: Option): boolean => `${option.name} ${option.help}`.toLowerCase().includes(words);
  const isSet = (option: Option): boolean => option.source !== "default" && option.source !== "not set";
  const shown = all.filter((option) => (words ? isFound(option) : areAllShown.value || isSet(option)));
  return (
    <PartSection part={part} id="options" title={t("Server options")}>
      <p class="dim">{t("Read at the start of the server: the command line wins over the environment, that over the file, that over the default.")}</p>
      <div class="line">
        <label>
          {t("Find")}
          <input type="search" value={search} onInput={(event) => (search.value = event.currentTarget.value)} />
        </label>
        <button type="button" aria-pressed={areAllShown.value} onClick={() => (areAllShown.value = !areAllShown.value)}>
          {t("Defaults too ({n} in all)", { n: formatCount(all.length) })}
        </button>
      </div>
      {shown.length === 0 ? (
        <p>{words ? t("No option has that in its name or help.") : t("Every option has its default.")}</p>
      ) : (
        <div class="scrolls" tabIndex={0} role="group" aria-label={t("Server options")}>
          <DataTable
            class="options"
            rows={shown}
            keyOf={(option) => option.name}
            columns={[
              { title: t("option"), isHead: true, cell: (option) => <code>{option.name}</code> },
              { title: t("value"), cell: (option) => <code>{textOf(option)}</code> },
              {
                title: t("comes from"),
                cellClass: (option) => (isSet(option) ? "" : "dim"),
                cell: (option) => (isSet(option) ? <code>{option.source}</code> : option.value === undefined ? t("not set") : t("default")),
              },
              { title: t("what it does"), cell: (option) => <span lang="en">{option.help}</span> },
            ]}
          />
        </div>
      )}
    </PartSection>
  );
}
