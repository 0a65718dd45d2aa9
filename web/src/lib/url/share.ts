// The divider's place as the left pane's share in percent; 0 and 100 fold a side away.
const SMALLEST = 18;
const STEP = 4;

export const SHARE_KEY = "smfleet.split"; // in localStorage
export const USUAL_SHARE = 66;

/** Shares too small to be of use fold the pane. */
export function clampShare(share: number): number {
  if (share < SMALLEST / 2) return 0;
  if (share > 100 - SMALLEST / 2) return 100;
  return Math.min(100 - SMALLEST, Math.max(SMALLEST, share));
}

export const dragShare = (x: number, width: number): number => (width > 0 ? clampShare((x / width) * 100) : 50);

export function keyShare(share: number, key: string): number | null {
  switch (key) {
    case "ArrowLeft":
      return share <= SMALLEST ? 0 : share === 100 ? 100 - SMALLEST : clampShare(share - STEP);
    case "ArrowRight":
      return share >= 100 - SMALLEST ? 100 : share === 0 ? SMALLEST : clampShare(share + STEP);
    case "Home":
      return 0;
    case "End":
      return 100;
    default:
      return null;
  }
}
