// The parts of a job's page that are no charts, each fetched when it is first opened.
import type { JobPart } from "../../../lib/url/url";
import type { JobStore } from "../../../state/job/job";
import { lazy } from "../../../ui/lazy";

type View = { store: JobStore };

const VIEWS: Record<Exclude<JobPart, "definitions" | "logs">, ReturnType<typeof lazy<View>>> = {
  nodes: lazy<View>(async () => (await import("../../nodes/page")).NodesPart, 8),
  goodput: lazy<View>(async () => (await import("./goodput")).GoodputPart, 8),
  training: lazy<View>(async () => (await import("./training")).TrainingPart, 8),
  settings: lazy<View>(async () => (await import("./settings")).SettingsPart, 8),
  incidents: lazy<View>(async () => (await import("./incidentlist")).IncidentsPart, 8),
  advice: lazy<View>(async () => (await import("./advice")).AdvicePart, 4),
  notes: lazy<View>(async () => (await import("./notes")).NotesPart, 4),
  files: lazy<View>(async () => (await import("./files")).FilesPart, 4),
  deliveries: lazy<View>(async () => (await import("./deliveries")).DeliveriesPart, 4),
  document: lazy<View>(async () => (await import("./document")).DocumentPart, 8),
};

export function Part({ store, part }: { store: JobStore; part: JobPart }) {
  if (part === "definitions" || part === "logs") return null; // pages of their own
  const View = VIEWS[part];
  return (
    <div class="jobpart">
      <View store={store} />
    </div>
  );
}
