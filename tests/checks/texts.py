#!/usr/bin/env python3
"""Every text that the page asks for is in one table of web/src/i18n/zh, with the same {places}; nothing is in it that nobody asks for."""

import json
import pathlib
import re
import sys

from source import ROOT, find_files, finish

STRING = r'"((?:[^"\\]|\\.)*)"'
# t("…"), tx("…"), tn(count, "…", "…"), and say("…"): a text that waits in a constant until it is asked for.
ASKED = (re.compile(rf"\btx?\(\s*{STRING}"), re.compile(rf'\btn\([^"]*?{STRING},\s*{STRING}'), re.compile(rf"\bsay\(\s*{STRING}"))
ROW = re.compile(rf"{STRING}:\s*{STRING}")
PLACE = re.compile(r"\{\w+\}")
# What the server says of a definition that is tried; the page shows it by t().
OF_THE_SERVER = "server/extract/trial.c"
WARNINGS = re.compile(r"\btrial_warning_text\(.*?\n\}", re.DOTALL)


def unquoted(text):
    return json.loads(f'"{text}"')


def asked_texts(root):
    """{text: the file that asks for it}"""
    found = {}
    for path in find_files(root / "web/src", ".ts", ".tsx"):
        if "i18n" in path.relative_to(root / "web/src").parts:
            continue
        text = path.read_text()
        for pattern in ASKED:
            for match in pattern.finditer(text):
                found.update((unquoted(one), path.relative_to(root)) for one in match.groups() if one is not None)
    server = root / OF_THE_SERVER
    if server.is_file():
        body = WARNINGS.search(server.read_text())
        found.update((unquoted(text), OF_THE_SERVER) for text in re.findall(rf"return {STRING}", body.group(0)) if text)
    return found


def table_faults(asked, name, rows, seen):
    for english, chinese in rows:
        if english not in asked:
            yield f"{name}: nobody asks for {english!r}"
        if english in seen:
            yield f"{name}: {english!r} is in {seen[english]}, too: it belongs in common.ts"
        if sorted(PLACE.findall(english)) != sorted(PLACE.findall(chinese)):
            yield f"{name}: the places of {english!r} are not those of {chinese!r}"
        seen[english] = name


def check(root):
    """(faults, number of texts)"""
    root = pathlib.Path(root)
    asked, seen, faults = asked_texts(root), {}, []
    for path in find_files(root / "web/src/i18n/zh", ".ts"):
        rows = [(unquoted(english), unquoted(chinese)) for english, chinese in ROW.findall(path.read_text())]
        faults += table_faults(asked, path.relative_to(root), rows, seen)
    faults += [f"{path}: {english!r} is in no table of web/src/i18n/zh" for english, path in asked.items() if english not in seen]
    return faults, len(asked)


if __name__ == "__main__":
    finish("texts", *check(sys.argv[1] if len(sys.argv) > 1 else ROOT))
