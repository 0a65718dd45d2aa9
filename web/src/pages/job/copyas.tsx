import { useSignal } from "@preact/signals";
import { apiUrl, asProblem, jobPath, send } from "../../api/client";

const SHOWN_MS = 3000;

const WAYS = [
  { as: "aws-cli", text: "Copy as aws CLI", title: "An aws sagemaker create-training-job command that runs this job again" },
  { as: "json", text: "Copy as JSON", title: "The CreateTrainingJob request that runs this job again" },
] as const;

/** What would run the job again; where the clipboard is refused, it is shown in a tab of its own. */
export function CopyAs({ name }: { name: string }) {
  const said = useSignal("");
  const copy = async (as: string): Promise<void> => {
    try {
      const reply = await send("GET", jobPath(name), { as });
      const text = await reply.text();
      try {
        await navigator.clipboard.writeText(text);
        said.value = "Copied";
      } catch {
        window.open(apiUrl(jobPath(name), { as }), "_blank", "noopener");
        said.value = "Shown in a new tab";
      }
    } catch (error) {
      said.value = asProblem(error).title;
    }
    window.setTimeout(() => (said.value = ""), SHOWN_MS);
  };
  return (
    <>
      {WAYS.map((way) => (
        <button key={way.as} type="button" title={way.title} onClick={() => void copy(way.as)}>
          {way.text}
        </button>
      ))}
      <span class="fact" role="status">
        {said}
      </span>
    </>
  );
}
