#!/usr/bin/env python3
"""
README.md, ARCHITECTURE.md, CONTRIBUTING.md and docs/ speak of what exists: every path in them is there, every folder of server/ is told of.
In CONTRIBUTING.md and in docs/ below a folder (internals, decisions), whose readers have the sources, this holds for the examples, too, and
for names of files without a folder, targets of `make` and variables of tests.
"""

import pathlib
import re
import sys

from source import ROOT, SKIPPED_FOLDERS, find_files, finish

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
# Made by a build or a run, so not in a fresh clone.
GENERATED = ("build/", ".cache/", "web/dist", "web/node_modules")
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
MAKE = re.compile(r"\bmake ([a-z]+)\b")
FILE_NAME = re.compile(r"`(\w+\.(?:c|h|py|ts|tsx))`")
VARIABLE = re.compile(r"\bSM_[A-Z0-9_]+\b")
FENCED_LINE = re.compile(r"^(?!```)(.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def top_level(root):
    return {entry.name for entry in root.iterdir() if entry.name not in SKIPPED_FOLDERS}


def code_paths(text, starts):
    """Words in code that can only be paths of this repository: below a top-level folder, or a folder of server/."""
    for found in CODE.finditer(text):
        for word in found.group(1).split():
            word = word.rstrip(".,;:")
            if re.fullmatch(r"[\w.][\w./-]*", word) and (word in starts or word.split("/")[0] in starts and "/" in word):
                yield word


def exists(root, word):
    if "NAME" in word or "NNNN" in word:  # of what is yet to be made: its folder must be there
        word = word[:re.search("NAME|NNNN", word).start()].rpartition("/")[0]
    if word.startswith(GENERATED):
        return True
    return (root / word).exists() or (root / "server" / word).exists()


def is_for_developers(name):
    return name == "CONTRIBUTING.md" or name.startswith("docs/") and name.count("/") > 1


def as_code(text):
    """The lines of fenced examples as inline code, without what follows a ` #`."""
    return "\n".join(f"`{line.split(' #')[0]}`" for block in FENCE.findall(text) for line in FENCED_LINE.findall(block) if "`" not in line)


def known_variables(root):
    """Those that some program or script reads."""
    files = [root / "tests/run", *(path for folder in ("tests", "server", "web/test") if (root / folder).is_dir()
        for path in find_files(root / folder, ".py", ".c", ".mjs", ".ts", ".txt"))]
    return {word for path in files if path.is_file() for word in VARIABLE.findall(path.read_text(errors="replace"))}


def file_names(root):
    return {path.name for path in find_files(root, ".c", ".h", ".py", ".ts", ".tsx")}


def developers_faults(root, name, text, starts):
    code = as_code(text)
    makefile = (root / "Makefile").read_text() if (root / "Makefile").is_file() else ""
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    yield from (f"{name}: speaks of `{word}`, which does not exist" for word in code_paths(code, starts) if not exists(root, word))
    inline = FENCE.sub("", text)
    spoken = code + "\n" + "\n".join(f"`{found}`" for found in CODE.findall(inline))
    yield from (f"{name}: `make {word}` is no target" for word in MAKE.findall(spoken) if word not in targets)
    named = set(FILE_NAME.findall(text))
    yield from (f"{name}: no file is called {word}" for word in sorted(named - file_names(root) if named else ()))
    words = set(VARIABLE.findall(text))
    yield from (f"{name}: nothing reads {word}" for word in sorted(words - known_variables(root) if words else ()))


def check(root):
    """(faults, number of files)"""
    root = pathlib.Path(root)
    faults = []
    layers = sorted(entry.name for entry in (root / "server").iterdir() if entry.is_dir() and any(entry.rglob("*.*")))
    starts = top_level(root) | set(layers)
    documents = [*DOCUMENTS, *sorted(str(path.relative_to(root)) for path in (root / "docs").rglob("*.md"))]
    for name in documents:
        if not (root / name).is_file():
            faults.append(f"{name}: is not there")
            continue
        text = (root / name).read_text()
        for word in code_paths(FENCE.sub("", text), starts):
            if not exists(root, word):
                faults.append(f"{name}: speaks of `{word}`, which does not exist")
        if is_for_developers(name):
            faults += developers_faults(root, name, text, starts)
        for found in LINK.finditer(text):
            beside = (root / name).parent / found.group(1)
            if "://" not in found.group(1) and not beside.exists() and not exists(root, found.group(1)):
                faults.append(f"{name}: links to {found.group(1)}, which does not exist")
    if (root / "ARCHITECTURE.md").is_file():
        text = (root / "ARCHITECTURE.md").read_text()
        faults += [f"ARCHITECTURE.md: does not tell of server/{layer}" for layer in layers
            if not re.search(rf"\b{layer}\b", text)]
    return faults, len(documents)


if __name__ == "__main__":
    finish("docs", *check(sys.argv[1] if len(sys.argv) > 1 else ROOT))
