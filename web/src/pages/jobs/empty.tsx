import { t } from "../../i18n/i18n";
import { CopyLine } from "../../ui/copy";

/** The three ways to send a first line, with this server's own address. */
export function FirstLine() {
  const origin = window.location.origin;
  const ways = [
    {
      title: t("Pipe what your trainer prints"),
      command: `train 2>&1 | curl -T - "${origin}/api/v1/logs?job=my-run&stream=algo-1"`,
    },
    {
      title: t("Start it under the shipper, which also reports start, end and host"),
      command: `sm-ship --server ${origin} --job my-run -- python train.py`,
    },
    {
      title: t("Send a log that is there already"),
      command: `curl -X POST "${origin}/api/v1/logs?job=my-run" --data-binary @train.log`,
    },
  ];
  return (
    <section class="empty">
      <h1>{t("No job has sent a line yet")}</h1>
      <p>{t("Send one in any of these ways. Its job, stream, metrics and charts appear here by themselves.")}</p>
      <ol>
        {ways.map((way) => (
          <li key={way.title}>
            <h2>{way.title}</h2>
            <CopyLine text={way.command} label={way.title} />
          </li>
        ))}
      </ol>
    </section>
  );
}
