// Where the live connection is.
import type { Find } from "../lib/log/logurl";
import type { Kind } from "./protocol";

/**
 * Commas part the names, so a comma inside a name is percent-encoded within the list, and the
 * list as a whole is encoded once more as any query parameter is.
 */
export function liveUrl(jobs: string[] | null, kinds: Kind[], after: string | null, filter: Find | null = null): string {
  const parts: string[] = [];
  if (jobs !== null) parts.push(`jobs=${jobs.map(encodeListItem).join(",")}`);
  parts.push(`kinds=${kinds.join(",")}`);
  if (after !== null) parts.push(`after=${encodeURIComponent(after)}`);
  if (filter !== null) parts.push(filterQuery(filter));
  return `/api/v1/live?${parts.join("&")}`;
}

const filterQuery = ({ text, isRegex, matchesCase }: Find): string =>
  `filter=${encodeURIComponent(text)}${isRegex ? "&filter_regex=true" : ""}${matchesCase ? "" : "&filter_ignore_case=true"}`;

const encodeListItem = (job: string): string =>
  encodeURIComponent(job.replaceAll("%", "%25").replaceAll(",", "%2C"));
