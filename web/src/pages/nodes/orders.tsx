import { useSignal } from "@preact/signals";
import { asProblem, jobPath, send } from "../../api/client";
import type { CommandName, JobStatus } from "../../api/types";
import { say, t, tn } from "../../i18n/i18n";
import { cutMiddle } from "../../lib/text/format";
import { nodesHref } from "../../lib/url/url";
import { ordersGiven } from "../../state/job/nodes";
import { Dialog } from "../../ui/dialog";

const ORDERS: Record<CommandName, { title: string; what: string; act: string }> = {
  checkpoint: {
    title: say("Checkpoint"),
    what: say("Every process that a connected sm-ship runs for this job gets the signal that --on checkpoint=SIGNAL names. The job goes on."),
    act: say("Ask for a checkpoint"),
  },
  stop: {
    title: say("Stop"),
    what: say("Every process that a connected sm-ship runs for this job gets the signal that --on stop=SIGNAL names, and the job becomes Stopping. That cannot be taken back. What no sm-ship runs goes on: smfleet can ask, it holds no machine."),
    act: say("Stop the job"),
  },
};

/** Asks once, then tells how many senders will hear of it. Only a job that runs can be told anything. */
export function Orders({ name, status }: { name: string; status: JobStatus }) {
  const asked = useSignal<CommandName | null>(null);
  const said = useSignal("");
  const isBusy = useSignal(false);
  if (status !== "InProgress") return said.value ? <Said name={name} text={said.value} /> : null;

  const close = (): void => {
    asked.value = null;
  };
  const give = async (command: CommandName): Promise<void> => {
    isBusy.value = true;
    try {
      const reply = await send("POST", jobPath(name, "/commands"), {}, { command });
      const { sessions } = (await reply.json()) as { sessions: number };
      said.value = sessions === 0 ? t("no sender is there to hear it") : tn(sessions, "sent to {n} sender", "sent to {n} senders");
      ordersGiven.value++;
    } catch (error) {
      said.value = asProblem(error).message;
    } finally {
      isBusy.value = false;
      close();
    }
  };

  return (
    <>
      {(["checkpoint", "stop"] as const).map((one) => (
        <button key={one} type="button" onClick={() => (asked.value = one)}>
          {t(ORDERS[one].title)}…
        </button>
      ))}
      <Said name={name} text={said.value} />
      {asked.value && <Ask command={asked.value} name={name} isBusy={isBusy.value} onYes={(command) => void give(command)} onClose={close} />}
    </>
  );
}

interface AskProps {
  command: CommandName;
  name: string;
  isBusy: boolean;
  onYes(command: CommandName): void;
  onClose(): void;
}

function Ask({ command, name, isBusy, onYes, onClose }: AskProps) {
  const order = ORDERS[command];
  return (
    <Dialog title={`${t(order.title)} ${cutMiddle(name, 40)}?`} onClose={onClose}>
      <p>{t(order.what)}</p>
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("Cancel")}
        </button>
        <button type="button" class="primary" disabled={isBusy} onClick={() => onYes(command)}>
          {t(order.act)}
        </button>
      </div>
    </Dialog>
  );
}

function Said({ name, text }: { name: string; text: string }) {
  return (
    <span class="fact" role="status">
      {text && <a href={nodesHref(name)}>{text}</a>}
    </span>
  );
}
