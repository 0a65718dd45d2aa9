// A message to a webhook as its receiver shows it: the texts of the body that is sent, without the marks of its format.

export const FORMAT_NAMES: Readonly<Record<string, string>> = {
  json: "JSON",
  cloudevents: "CloudEvents",
  slack: "Slack",
  discord: "Discord",
  teams: "Microsoft Teams",
  pagerduty: "PagerDuty",
  feishu: "Feishu",
  dingtalk: "DingTalk",
  wecom: "WeCom",
};

export interface Seen {
  title: string;
  text: string;
}

type Path = readonly (string | number)[];

/** Where each format has its title and its text; the text may begin with the title. */
const PLACES: Readonly<Record<string, { title?: Path; text: Path }>> = {
  json: { title: ["type"], text: ["data", "summary"] },
  cloudevents: { title: ["type"], text: ["data", "summary"] },
  slack: { text: ["attachments", 0, "blocks", 0, "text", "text"] },
  discord: { title: ["embeds", 0, "title"], text: ["embeds", 0, "description"] },
  teams: { title: ["attachments", 0, "content", "body", 0, "inlines", 0, "text"], text: ["attachments", 0, "content", "body", 1, "inlines", 0, "text"] },
  pagerduty: { text: ["payload", "summary"] },
  feishu: { title: ["card", "header", "title", "content"], text: ["card", "elements", 0, "text", "content"] },
  dingtalk: { text: ["markdown", "text"] },
  wecom: { text: ["markdown", "content"] },
};

function at(message: unknown, path: Path): string {
  let value = message;
  for (const step of path) value = (value as Record<string | number, unknown> | null | undefined)?.[step];
  return typeof value === "string" ? value : "";
}

const ENTITIES: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

const LINKED = /(?<!\\)\[((?:\\.|[^[\]\\])*)\]\([^)]*\)/g;

/** What the receiver makes of what its format writes otherwise. */
function shown(format: string, text: string): string {
  if (format === "slack") return text.replace(/<[^|>]*\|([^>]*)>/g, "$1").replace(/&(lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);
  if (format === "discord") return text.replace(LINKED, "$1").replace(/\\([\\*_~`|<>[\]()#])/g, "$1");
  if (format === "dingtalk" || format === "wecom") return text.replace(LINKED, "$1");
  return text;
}

const HEADING = /^(?:\*\*?|#+ )(.*?)(?:\*\*?)?$/;
const BUTTON = /^\[Open\]\(.*\)$/;

export function seenOf(format: string, message: unknown): Seen {
  const { title = [], text } = PLACES[format] ?? { text: [] };
  const lines = at(message, text).split("\n").filter((line) => line !== "" && !BUTTON.test(line));
  const heading = title.length > 0 ? null : HEADING.exec(lines[0] ?? "");
  return {
    title: shown(format, heading?.[1] ?? at(message, title)),
    text: shown(format, (heading ? lines.slice(1) : lines).join("\n")),
  };
}
