// Deleted jobs: where they are kept, and back.
import { getJson, jobPath, send } from "./client";

export interface TrashedJob {
  id: number;
  TrainingJobName: string;
  team: string;
  TrainingJobStatus: string;
  deleted_ms: number;
  deleted_by: string;
  purge_ms: number;
  bytes: number;
}

export interface Trash {
  jobs: TrashedJob[];
  /** Of all, of which `jobs` may be the newest. */
  count: number;
  bytes: number;
  /** 0: there is none. */
  kept_ms: number;
}

const DAY_MS = 86_400_000;

/** For how many days what is deleted now can be had back; 0: it cannot. */
export async function daysInTrash(): Promise<number> {
  return (await getJson<Trash>("trash", { limit: 1 })).kept_ms / DAY_MS;
}

/** The name that it has now: another where that was taken. */
export async function restoreJob(name: string, id?: number): Promise<string> {
  const reply = await send("POST", jobPath(name, "/restore"), { id });
  return ((await reply.json()) as { TrainingJobName: string }).TrainingJobName;
}
