#!/usr/bin/env python3
"""Functions have at most 60 lines, files at most 800; files past 500 are counted and the longest named, which is no fault.

By layout, which clang-format fixes: a C function's body stands between a `{` and a `}` in column 0.
"""

import pathlib
import sys

from source import ROOT, find_files, finish

FUNCTION_LINES, FILE_LINES, FILE_LINES_NOTED = 60, 800, 500


def functions(lines):
    """(name's line number, number of lines between the braces)"""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            yield start, number - start - 1
            start = None


def check(root):
    """(faults, notes, number of files)"""
    root = pathlib.Path(root)
    faults, notes, count = [], [], 0
    for folder in ("server", "tests", "web", "deploy"):
        for path in find_files(root / folder, ".c", ".h", ".py", ".ts", ".tsx", ".sh"):
            name, lines = path.relative_to(root), path.read_text(errors="replace").splitlines()
            count += 1
            if len(lines) > FILE_LINES:
                faults.append(f"{name}: {len(lines)} lines; at most {FILE_LINES}")
            elif len(lines) > FILE_LINES_NOTED:
                notes.append(f"{name}: {len(lines)} lines (noted past {FILE_LINES_NOTED})")
            if path.suffix == ".c":
                faults += [f"{name}:{start}: a function of {size} lines; at most {FUNCTION_LINES}"
                    for start, size in functions(lines) if size > FUNCTION_LINES]
    return faults, notes, count


if __name__ == "__main__":
    found, noted, looked_at = check(sys.argv[1] if len(sys.argv) > 1 else ROOT)
    longest = sorted(noted, key=lambda note: -int(note.split()[1]))[:3]
    print(f"{len(noted)} files have more than {FILE_LINES_NOTED} lines, which is no fault; the longest:")
    for note in longest:
        print(note)
    finish("sizes", found, looked_at)
