export function WallPage() {
  return null;
}
