/** A sort as the API writes it: a key, with a leading minus when descending. */
export interface Sort {
  key: string;
  descending: boolean;
}

export function parseSort(text: string): Sort | null {
  if (text === "" || text === "-") return null;
  return text.startsWith("-") ? { key: text.slice(1), descending: true } : { key: text, descending: false };
}

/** A first click sorts as the column likes best, a second turns round, a third gives up sorting. */
export function nextSort(current: string, key: string, descendingFirst: boolean): string | undefined {
  const sort = parseSort(current);
  const text = (descending: boolean): string => (descending ? `-${key}` : key);
  if (sort?.key !== key) return text(descendingFirst);
  return sort.descending === descendingFirst ? text(!descendingFirst) : undefined;
}
