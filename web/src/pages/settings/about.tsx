import { t } from "../../i18n/i18n";
import { formatBytes } from "../../lib/text/bytes";
import { formatCount, formatDuration, formatTime } from "../../lib/text/format";
import { now } from "../../state/core/clock";
import { info } from "../../state/core/info";
import type { Part, Retention } from "./parts";
import { Section } from "./section";

const OF_THE_PAGE = "Preact, @preact/signals, uPlot (MIT)";
const OF_THE_SERVER = "SQLite (public domain), libmicrohttpd (LGPL-2.1), libcurl (curl), PCRE2 (BSD-3-Clause), zstd (BSD-3-Clause), Snappy (BSD-3-Clause), zlib (Zlib), Mbed TLS (Apache-2.0), libcbor (MIT), cJSON (MIT)";

export function About({ retention }: { retention: Part<Retention> }) {
  const server = info.value;
  const used = retention.value.value?.used_bytes;
  const facts: [string, string][] = [
    [t("Version"), server?.version ?? "–"],
    [t("Running since"), server?.started_ms === undefined ? "–" : `${formatTime(server.started_ms)} (${formatDuration((now.value - server.started_ms) / 1000)})`],
    [t("Jobs"), formatCount(server?.jobs)],
    [t("Database"), used === undefined || used === null ? "–" : formatBytes(used)],
    [t("Licence"), "Apache-2.0"],
    [t("The page is made with"), OF_THE_PAGE],
    [t("The server is made with"), OF_THE_SERVER],
  ];
  return (
    <Section id="about" title={t("About")}>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>{t("Interface")}</dt>
          <dd>
            <a href="/api/v1/openapi.json">openapi.json</a> · <a href="/metrics" target="_blank">{t("figures for Prometheus")}</a>
          </dd>
        </div>
      </dl>
    </Section>
  );
}
