#!/usr/bin/env python3
"""README.md, ARCHITECTURE.md and docs/ speak of what exists: every path in them is there, every folder of server/ is told of."""

import pathlib
import re
import sys

from source import ROOT, SKIPPED_FOLDERS, finish

DOCUMENTS = ("README.md", "ARCHITECTURE.md")
# Made by a build or a run, so not in a fresh clone.
GENERATED = ("build/", ".cache/", "web/dist", "web/node_modules")
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
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
    if word.startswith(GENERATED):
        return True
    return (root / word).exists() or (root / "server" / word).exists()


def check(root):
    """(faults, number of files)"""
    root = pathlib.Path(root)
    faults = []
    layers = sorted(entry.name for entry in (root / "server").iterdir() if entry.is_dir() and any(entry.rglob("*.*")))
    starts = top_level(root) | set(layers)
    documents = [*DOCUMENTS, *sorted(str(path.relative_to(root)) for path in root.glob("docs/*.md"))]
    for name in documents:
        if not (root / name).is_file():
            faults.append(f"{name}: is not there")
            continue
        text = (root / name).read_text()
        for word in code_paths(FENCE.sub("", text), starts):
            if not exists(root, word):
                faults.append(f"{name}: speaks of `{word}`, which does not exist")
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
