/**
 * Orders two sequence marks: negative, 0, positive, or undefined when they cannot be ordered.
 * A mark is opaque by contract; it is decimal digits today, and anything else is not guessed at.
 */
export function compareSeq(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!isDigits(a) || !isDigits(b)) return undefined;
  const left = a.replace(/^0+(?=.)/, "");
  const right = b.replace(/^0+(?=.)/, "");
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}

const isDigits = (text: string): boolean => /^\d+$/.test(text);
