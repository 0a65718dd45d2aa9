// From the x of an axis to what the server counts by, and back.

export interface XMap {
  /** Of the server's two axes the one that this one stands on. */
  axis: "step" | "time";
  toServer(x: number): number;
  fromServer(x: number): number;
  /** Both are the same. */
  isPlain?: boolean;
}

const same = (x: number): number => x;
export const STEPS: XMap = { axis: "step", toServer: same, fromServer: same, isPlain: true };
export const TIMES: XMap = { axis: "time", toServer: same, fromServer: same, isPlain: true };

/** Counted from where the job began. */
export const shifted = (axis: XMap["axis"], origin: number): XMap => ({
  axis,
  toServer: (x) => x + origin,
  fromServer: (x) => x - origin,
});
