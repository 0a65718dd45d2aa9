import { Resource } from "../../state/core/resource";
import { useStore } from "../../state/core/store";

/** Of the jobs that have a tag `team`. */
export function useTeams(): string[] {
  const own = useStore(() => new Resource<{ groups: Record<string, string | null>[] }>("aggregate", { by: "tag.team" }), [], (next) => next.load());
  return own?.value.value?.groups.flatMap((one) => one["tag.team"] || []) ?? [];
}
