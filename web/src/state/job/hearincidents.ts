// The live connection of the pages about alerts.
import { setWant } from "../../live/client";
import { freshSeq } from "../core/info";

/** What the pages about alerts listen to. */
export async function hearIncidents(): Promise<void> {
  const seq = await freshSeq();
  setWant({ jobs: null, kinds: ["job", "incident"], after: seq });
}
