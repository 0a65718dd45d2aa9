/** The address that MLflow's client prints at the end of a run, SERVER/#/experiments/1/runs/0123…, as a search of jobs; null: it is none. */
export function trackedHref(hash: string): string | null {
  const [, project, run] = /^#\/experiments\/(\d+)(?:\/runs\/(\w+))?$/.exec(hash) ?? [];
  if (!project) return null;
  return `/jobs?q=${run ? `TrackedRunId%3D${run}` : `TrackedProjectId%3D${project}`}`;
}
