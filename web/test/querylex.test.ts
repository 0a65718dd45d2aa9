import { expect, test } from "vitest";
import { lexQuery } from "../src/lib/text/querylex";

const kinds = (text: string): string => lexQuery(text).filter((one) => one.kind !== "space").map((one) => `${one.kind}:${one.text}`).join(" ");

test("names, operators, values, keywords", () => {
  expect(kinds("status:failed loss.last>3")).toBe("name:status op:: text:failed name:loss.last op:> number:3");
  expect(kinds('name~"llama-.*" or not tag.team!=nlp')).toBe('name:name op:~ text:"llama-.*" keyword:or keyword:not name:tag.team op:!= text:nlp');
  expect(kinds('metric."train:loss".min<=-1e-4')).toBe('name:metric."train:loss".min op:<= number:-1e-4');
  expect(kinds("(llama nccl*) -tag.team exists")).toBe("mark:( word:llama word:nccl* mark:) op:- name:tag.team keyword:exists");
  expect(kinds("status in (completed, stopped)")).toBe("name:status keyword:in mark:( word:completed mark:, word:stopped mark:)");
});

test("the tokens are the text, whatever it is", () => {
  for (const text of ['a"b', '"', "x>>!=~*:", "é\u202Eö 😀 %2F", "!", "!!=", "-", "- -x", '"\\"', " a  b ", ""]) {
    expect(lexQuery(text).map((one) => one.text).join("")).toBe(text);
  }
});
