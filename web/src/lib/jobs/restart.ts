// What the restart of a failed job is told, and the command that starts it: docs/restarts.md.

export interface Restart {
  job: string;
  due: boolean;
  why: string;
  continued_by: string | null;
  failures: number;
  failures_in_row: number;
  /** false: a newer checkpoint may be in lines that the server has not looked at. */
  extracted: boolean;
  checkpoint: { job: string; step: number; ts_ms: number; stream: string; line: number; path: string | null } | null;
  drained: { host: string; why: string[] }[];
}

const quote = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

/** What sm-ship --on-restart would run: COMMAND with the document and its parts. `origin` of this server. */
export function restartCommand(restart: Restart, origin: string, needsToken: boolean): string {
  const { job, checkpoint, drained, failures_in_row: failures } = restart;
  const variables: [string, string][] = [
    ["JOB", job],
    ["STEP", checkpoint ? String(checkpoint.step) : ""],
    ["CHECKPOINT", checkpoint?.path ?? ""],
    ["DRAINED", drained.map(({ host }) => host).join(",")],
    ["FAILURES", String(failures)],
  ];
  const header = needsToken ? ` -H "Authorization: Bearer $SMFLEET_TOKEN"` : "";
  const environment = variables.map(([name, value]) => `SMFLEET_RESTART_${name}=${value === "" ? "" : quote(value)}`).join(" ");
  return `curl -s${header} ${quote(`${origin}/api/v1/jobs/${encodeURIComponent(job)}/restart`)} | ${environment} SMFLEET_CONTINUES=${quote(job)} ./again`;
}
