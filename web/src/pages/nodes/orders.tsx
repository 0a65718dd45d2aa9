import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { asProblem, jobPath, send } from "../../api/client";
import type { CommandName, JobStatus } from "../../api/types";
import { say, t, tn } from "../../i18n/i18n";
import { cutMiddle } from "../../lib/text/format";
import { nodesHref } from "../../lib/url/url";
import { ordersGiven } from "../../state/job/nodes";

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
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = useSignal<CommandName>("checkpoint");
  const said = useSignal("");
  const isBusy = useSignal(false);
  if (status !== "InProgress") return said.value ? <Said name={name} text={said.value} /> : null;

  const give = async (): Promise<void> => {
    isBusy.value = true;
    try {
      const reply = await send("POST", jobPath(name, "/commands"), {}, { command: asked.value });
      const { sessions } = (await reply.json()) as { sessions: number };
      said.value = sessions === 0 ? t("no sender is there to hear it") : tn(sessions, "sent to {n} sender", "sent to {n} senders");
      ordersGiven.value++;
    } catch (error) {
      said.value = asProblem(error).message;
    } finally {
      isBusy.value = false;
      dialog.current?.close();
    }
  };

  const order = ORDERS[asked.value];
  return (
    <>
      {(["checkpoint", "stop"] as const).map((one) => (
        <button
          key={one}
          type="button"
          onClick={() => {
            asked.value = one;
            dialog.current?.showModal();
          }}
        >
          {t(ORDERS[one].title)}…
        </button>
      ))}
      <Said name={name} text={said.value} />
      <dialog ref={dialog} class="signin" aria-labelledby="order-title">
        <h2 id="order-title">
          {t(order.title)} {cutMiddle(name, 40)}?
        </h2>
        <p>{t(order.what)}</p>
        <div class="actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            {t("Cancel")}
          </button>
          <button type="button" class="primary" disabled={isBusy.value} onClick={() => void give()}>
            {t(order.act)}
          </button>
        </div>
      </dialog>
    </>
  );
}

function Said({ name, text }: { name: string; text: string }) {
  return (
    <span class="fact" role="status">
      {text && <a href={nodesHref(name)}>{text}</a>}
    </span>
  );
}
