// What is written of machines and of disks.
import { formatCompact, NONE } from "./format";

export const shortInstance = (type: string | undefined): string => (type ?? NONE).replace(/^ml\./, "");

/** 1.94 GB: powers of a thousand, as disks are sold and limits are given. */
export const formatBytes = (bytes: number): string => (Math.abs(bytes) < 1000 ? `${Math.round(bytes)} B` : `${formatCompact(bytes)}B`);
