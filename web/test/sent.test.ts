import { expect, test } from "vitest";
import { seenOf } from "../src/lib/jobs/sent";

const slack = (text: string): unknown => ({ attachments: [{ blocks: [{ type: "section", text: { type: "mrkdwn", text } }] }] });

test.each([
  ["slack", slack("*Critical: loss spike*\na &lt;b&gt; &amp; c"), "Critical: loss spike", "a <b> & c"],
  ["discord", { embeds: [{ title: "Loss \\*spike\\*", description: "run\\_1 went up" }] }, "Loss *spike*", "run_1 went up"],
  ["dingtalk", { markdown: { title: "T", text: "#### Loss spike\n\nrun went up\n\n[Open](http://a/b)" } }, "Loss spike", "run went up"],
  ["wecom", { markdown: { content: "**Loss spike**\nrun went up\n[Open](http://a/b)" } }, "Loss spike", "run went up"],
  ["pagerduty", { payload: { summary: "run went up" } }, "", "run went up"],
  ["json", { type: "incident.opened", data: { summary: "run went up" } }, "incident.opened", "run went up"],
  ["slack", slack("*Report*\nall\n• <http://a/b|run &lt;1&gt; failed>"), "Report", "all\n• run <1> failed"],
  ["discord", { embeds: [{ title: "Report", description: "all \\[x\\]\n• [run\\_1 \\[a\\] failed](http://a/b)" }] }, "Report", "all [x]\n• run_1 [a] failed"],
  ["wecom", { markdown: { content: "**Report**\nall\n[run failed](http://a/b)\n[Open](http://a/b)" } }, "Report", "all\nrun failed"],
  ["some day", { text: "x" }, "", ""],
])("a message as %s shows it", (format, message, title, text) => {
  expect(seenOf(format, message)).toEqual({ title, text });
});
