// What a job runs on: as somebody set it right, else as its document states it, else as nodes are counted.
import type { JobRow } from "../../api/types";
import { shortInstance } from "../text/units";

export function instancesOf(row: JobRow): string | null {
  const { InstanceType, InstanceCount: count } = row.ResourceConfig ?? {};
  const type = row.by_hand?.instance_type ?? InstanceType;
  if (type === undefined && count === undefined && row.by_hand?.nodes === undefined) return null;
  return `${row.nodes ?? count ?? 1} × ${shortInstance(type)}`;
}
