// What the parts of a query are, for the eye: as the server reads it (server/query), but nothing is ever wrong here.

export type TokenKind = "space" | "word" | "name" | "op" | "text" | "number" | "keyword" | "mark";

export interface Token {
  kind: TokenKind;
  text: string;
}

const KEYWORDS = /^(and|or|not|in|exists)$/i;
const NUMBER = /^[-+]?(\d|\.\d)/;
const PIECES = /(\s+)|([(),])|(!=|!~|>=|<=|~\*|[:=<>~])|((?:"(?:[^"\\]|\\.)*"?|[^\s(),:=<>~!"]|!(?![=~]))+)/g;

/** Joined, the tokens are the text. */
export function lexQuery(text: string): Token[] {
  const tokens: Token[] = [];
  const isValueNext = (): boolean => tokens[tokens.length - 1]?.kind === "op" && tokens[tokens.length - 1]?.text !== "-";
  for (const [whole, space, mark, op] of text.matchAll(PIECES)) {
    if (space) tokens.push({ kind: "space", text: whole });
    else if (mark) tokens.push({ kind: "mark", text: whole });
    else if (op) {
      const before = tokens[tokens.length - 1];
      if (before && before.kind !== "space" && before.kind !== "mark" && before.kind !== "op") before.kind = "name";
      tokens.push({ kind: "op", text: whole });
    } else pushWord(tokens, whole, isValueNext());
  }
  return tokens;
}

function pushWord(tokens: Token[], word: string, isValue: boolean): void {
  if (isValue) {
    tokens.push({ kind: !word.startsWith('"') && NUMBER.test(word) ? "number" : "text", text: word });
    return;
  }
  if (KEYWORDS.test(word)) {
    // "name in (…)", "tag.team exists": what stands before them is a name as well.
    const before = tokens[tokens.length - 2];
    if (/^(in|exists)$/i.test(word) && before?.kind === "word") before.kind = "name";
    tokens.push({ kind: "keyword", text: word });
    return;
  }
  const rest = word.startsWith("-") && word.length > 1 ? word.slice(1) : word;
  if (rest !== word) tokens.push({ kind: "op", text: "-" });
  tokens.push({ kind: rest.startsWith('"') ? "text" : "word", text: rest });
}
