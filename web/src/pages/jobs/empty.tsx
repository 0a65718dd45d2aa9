import { say, t } from "../../i18n/i18n";
import { session } from "../../state/core/session";
import { CopyLine } from "../../ui/copy";

interface Way {
  title: string;
  command(origin: string, hasTokens: boolean): string;
}

const TOKEN = ' -H "Authorization: Bearer $SMFLEET_TOKEN"';
const header = (hasTokens: boolean): string => (hasTokens ? TOKEN : "");

/** By what there is already: a trainer, its log, Docker, Slurm, another tracker's client. tests/e2e/firstline.test.mjs runs each. */
const WAYS: readonly Way[] = [
  {
    title: say("Pipe what your trainer prints"),
    command: (origin, hasTokens) => `python train.py 2>&1 | curl${header(hasTokens)} -T - "${origin}/api/v1/logs?job=my-run&stream=algo-1"`,
  },
  {
    title: say("Start it under the shipper, which also reports start, end and host"),
    command: (origin) => `curl -fsSO ${origin}/dl/sm_ship.py && python3 sm_ship.py --server ${origin} --job my-run -- python train.py`,
  },
  {
    title: say("Send a log that is there already"),
    command: (origin, hasTokens) => `curl${header(hasTokens)} -X POST "${origin}/api/v1/logs?job=my-run&stream=file" --data-binary @train.log`,
  },
  {
    title: say("Docker: follow a container"),
    command: (origin, hasTokens) => `docker logs -f my-container 2>&1 | curl${header(hasTokens)} -T - "${origin}/api/v1/logs?job=my-container&stream=algo-1"`,
  },
  {
    title: say("Slurm: one job, a stream a task"),
    command: (origin) => `curl -fsSO ${origin}/dl/sm_ship.py && srun python3 sm_ship.py --server ${origin} --job my-slurm-run -- python train.py`,
  },
  {
    title: say("MLflow: one variable, no change to the code"),
    command: (origin, hasTokens) => `export MLFLOW_TRACKING_URI=${origin}${hasTokens ? " MLFLOW_TRACKING_TOKEN=$SMFLEET_TOKEN" : ""}`,
  },
  {
    title: say("W&B: two variables, no change to the code"),
    command: (origin, hasTokens) => `export WANDB_BASE_URL=${origin} WANDB_API_KEY=${hasTokens ? "$SMFLEET_TOKEN" : `smf-${"0".repeat(40)}`}`,
  },
];

/** The ways to send a first line, with this server's own address. */
export function FirstLine() {
  const hasTokens = session.value?.required ?? false;
  return (
    <section class="empty firstline">
      <h1>{t("No job has sent a line yet")}</h1>
      <p>{t("Send one in any of these ways. Its job, stream, metrics and charts appear here by themselves.")}</p>
      {hasTokens && <p>{t("This server has tokens: put one with the scope write into SMFLEET_TOKEN first.")}</p>}
      <ol>
        {WAYS.map(({ title, command }) => (
          <li key={title}>
            <h2>{t(title)}</h2>
            <CopyLine text={command(window.location.origin, hasTokens)} label={t(title)} />
          </li>
        ))}
      </ol>
    </section>
  );
}
