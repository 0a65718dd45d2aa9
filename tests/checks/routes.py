#!/usr/bin/env python3
"""docs/api.md has a row for each route of the server, with its method, path and scope, and no other."""

import pathlib
import re
import sys

from source import ROOT, finish

TABLES = ("server/api/routes.c", "server/aws/protocol/aws.c")
PAGE = {("GET", "/"), ("GET", "/{path...}")}  # its files are no part of the interface
ROW = re.compile(r"^\| `([A-Z]+)` \| `(/[^`]*)` \| (\w+) \|", re.MULTILINE)
ROUTE = re.compile(r'\{(HTTP_[A-Z]+(?: \| HTTP_[A-Z]+)*),\s*"(/[^"]*)"(?:,\s*SCOPE_(\w+))?')


def routes(text):
    """(method, path, scope); the table of AWS's doors leaves the scope to the code behind it, which is read."""
    for methods, path, scope in ROUTE.findall(text):
        for method in re.findall(r"HTTP_(\w+)", methods):
            if (method, path) not in PAGE:
                yield method, path, (scope or "read").lower()


def check(root):
    """(faults, number of files)"""
    root = pathlib.Path(root)
    rows = ROW.findall((root / "docs/api.md").read_text())
    table = {route for name in TABLES if (root / name).is_file() for route in routes((root / name).read_text())}
    faults = [f"docs/api.md: two rows of {method} {path}" for method, path in sorted({row[:2] for row in rows
        if sum(row[:2] == other[:2] for other in rows) > 1})]
    faults += [f"docs/api.md: no row | `{method}` | `{path}` | {scope} |" for method, path, scope in sorted(table - set(rows))]
    faults += [f"docs/api.md: no route is {method} {path} with scope {scope}" for method, path, scope in sorted(set(rows) - table)]
    return faults, len(table)


if __name__ == "__main__":
    finish("routes", *check(sys.argv[1] if len(sys.argv) > 1 else ROOT))
