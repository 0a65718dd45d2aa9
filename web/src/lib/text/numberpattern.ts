// Presets write {N} for a number as trainers print it. The server shows it written out, which nobody can read.

const NUMBER = "[-+]?(?:1\\.#[a-zA-Z0+-]+|(?i:nan(?:\\(\\w+\\))?|inf)|\\d+\\.?\\d*(?:[eE][-+]?\\d+)?|\\.\\d+(?:[eE][-+]?\\d+)?)";
const SHORT = "{N}";

export const collapseNumbers = (regex: string): string => regex.replaceAll(NUMBER, () => SHORT);

export const expandNumbers = (regex: string): string => regex.replaceAll(SHORT, () => NUMBER);

/** The column, from 1, of the short form that a column of the long one stands for; within a number it is where that begins. */
export function columnOfShort(short: string, column: number): number {
  let place = 0;
  let long = 0;
  while (place < short.length && long < column - 1) {
    const isNumber = short.startsWith(SHORT, place);
    long += isNumber ? NUMBER.length : 1;
    if (long > column - 1) break;
    place += isNumber ? SHORT.length : 1;
  }
  return place + 1;
}
