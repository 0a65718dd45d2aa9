"""What the checkers share: which files there are, and C text without its comments and strings."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED_FOLDERS = {"build", ".cache", "node_modules", "dist", "__pycache__", ".git", ".pytest_cache"}


def find_files(folder, *suffixes):
    """Files below folder with one of the suffixes, sorted; nothing that is built or fetched."""
    folder = pathlib.Path(folder)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in suffixes and not SKIPPED_FOLDERS & set(path.relative_to(folder).parts):
            yield path


_TOKEN = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def _blank(match):
    text = match.group(0)
    if text[0] in "\"'":
        return text[0] + " " * (len(text) - 2) + text[0]
    return re.sub(r"[^\n]", " ", text)


def bare_code(text):
    """The same text, same length and lines, with comments and the insides of strings as spaces."""
    return _TOKEN.sub(_blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def finish(name, faults, looked_at):
    """Prints the faults and ends the program: the one way in which a checker speaks."""
    for fault in faults:
        print(fault)
    print(f"{name}: {len(faults)} faults in {looked_at} files")
    sys.exit(1 if faults else 0)
