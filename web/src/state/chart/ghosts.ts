// Curves of attempts that a restart has superseded; fetched when they are asked for.
import type { PointsReply } from "../../api/types";
import { bucketsFromReply } from "../../lib/chart/buckets";
import type { XMap } from "../../lib/chart/xmap";
import type { Ghost } from "../../lib/chart/curves";

const MOST = 8;

/** The newest few of those before the last attempt. */
export function askGhosts(live: PointsReply, map: XMap, ask: (attempt: string) => Promise<PointsReply>): Promise<Ghost[]> {
  const older = (live.attempts ?? []).map((one) => one.attempt).sort((a, b) => a - b).slice(0, -1);
  return Promise.all(
    older.slice(-MOST).map(async (attempt) => {
      const { x, mean } = bucketsFromReply(await ask(String(attempt)));
      return { attempt, x: x.map(map.fromServer), y: mean };
    }),
  );
}
