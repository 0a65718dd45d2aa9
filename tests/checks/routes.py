#!/usr/bin/env python3
"""docs/api.md has a row for each route of the server, with its method, path, scope and text, and no other."""

import pathlib
import re
import sys

from source import ROOT, finish

TABLES = ("server/api/routes.c", "server/aws/protocol/aws.c", "server/mlflow/mlflow.c", "server/prometheus/prometheus.c",
    "server/trackio/trackio.c", "server/wandb/wandb.c")
PAGE = {("GET", "/"), ("GET", "/jobs/{job}"), *((method, "/{path...}") for method in ("GET", "POST", "PUT", "DELETE"))}  # its files are no part of the interface, nor is what says that there is no S3
ROW = re.compile(r"^\| `([A-Z]+)` \| `(/[^`]*)` \| (\w+) \| (.*) \|$", re.MULTILINE)
ROUTE = re.compile(r'\{(HTTP_[A-Z]+(?: \| HTTP_[A-Z]+)*),\s*"(/[^"]*)"(?:,\s*SCOPE_(\w+))?((?:(?!\{HTTP_).)*)', re.DOTALL)
SUMMARY = re.compile(r'\.summary\s*=\s*((?:"[^"]*"\s*)+)')


def routes(text):
    """(method, path, scope), and what the route does; the table of AWS's doors leaves the scope to the code behind it, which is read."""
    for methods, path, scope, rest in ROUTE.findall(text):
        summary = SUMMARY.search(rest)
        words = "".join(re.findall(r'"([^"]*)"', summary.group(1))) if summary else ""
        for method in re.findall(r"HTTP_(\w+)", methods):
            if (method, path) not in PAGE:
                yield (method, path, (scope or "read").lower()), words.replace("|", "&#124;")


def without_query(text):
    """The interface tells of them (/api/v1/openapi.json), also where there are none."""
    return [f"{TABLES[0]}: the route {path} says no .query; where it takes none, that is \"\"" for _, path, _, rest in ROUTE.findall(text) if ".query" not in rest]


def row_of(route, table):
    """As it stands in docs/api.md."""
    method, path, scope = route
    return f"| `{method}` | `{path}` | {scope} | {table[route]} |"


def check(root):
    """(faults, number of files)"""
    root = pathlib.Path(root)
    rows = [(row[:3], row[3]) for row in ROW.findall((root / "docs/api.md").read_text())]
    table = dict(route for name in TABLES if (root / name).is_file() for route in routes((root / name).read_text()))
    names = [route[:2] for route, _ in rows]
    written = dict(rows)
    faults = [f"docs/api.md: two rows of {method} {path}" for method, path in sorted({name for name in names if names.count(name) > 1})]
    faults += [fault for fault in without_query((root / TABLES[0]).read_text())]
    faults += [f"docs/api.md: there is no row for this route; add: {row_of(route, table)}" for route in sorted(set(table) - set(written))]
    faults += [f"docs/api.md: no route is {method} {path} with scope {scope}" for method, path, scope in sorted(set(written) - set(table))]
    faults += [f"docs/api.md: the text of a row must be the .summary of its route; the row should be: {row_of(route, table)}"
        for route in sorted(set(table) & set(written)) if table[route] != written[route]]
    return faults, len(table)


if __name__ == "__main__":
    finish("routes", *check(sys.argv[1] if len(sys.argv) > 1 else ROOT))
