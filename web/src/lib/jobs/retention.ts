// What a limit on log text would delete, as far as the server's forecast tells.

export interface Expendable {
  job: string;
  ended_ms: number;
  text_bytes: number;
  stored_bytes: number;
}

export interface Going {
  jobs: Expendable[];
  /** More may go than the forecast lists. */
  isMore: boolean;
}

/** The jobs, first to go first, whose text makes room for what is used beyond the limit. 0: no limit. */
export function goneBySpace(next: readonly Expendable[], usedBytes: number, limitBytes: number): Going {
  let over = limitBytes > 0 ? usedBytes - limitBytes : 0;
  const jobs: Expendable[] = [];
  for (const job of next) {
    if (over <= 0) break;
    jobs.push(job);
    over -= job.stored_bytes;
  }
  return { jobs, isMore: over > 0 };
}

/** The jobs that ended before that many days. 0: no limit. */
export function goneByAge(next: readonly Expendable[], days: number, nowMs: number): Going {
  const before = nowMs - days * 86_400_000;
  const jobs = days > 0 ? next.filter((job) => job.ended_ms < before) : [];
  return { jobs, isMore: jobs.length > 0 && jobs.length === next.length };
}
