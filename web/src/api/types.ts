// The shapes of the REST contract that the page reads, by area. Absent values are absent keys;
// numbers that are not finite travel as strings.

export type { Num } from "../lib/text/number";
export type * from "./types/definitions";
export type * from "./types/fleet";
export type * from "./types/goodput";
export type * from "./types/incidents";
export type * from "./types/jobs";
export type * from "./types/logs";
export type * from "./types/points";
