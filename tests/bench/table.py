"""The rows of the table: what one is, where they come from, how they are printed.

A module `rows_*.py` beside this file has `ROWS`, a list of Row; `run` finds it by its name, there is nothing else to register.
"""

import importlib
import pathlib
from typing import Any, Callable, NamedTuple


class Row(NamedTuple):
    """One measurement: `run --only NAME` picks it."""
    name: str
    measure: Callable[["Bench"], dict]  # works; its figures (JSON) are what the report and bench.json get
    report: Callable[[dict, "Bench"], list["Line"]]  # lines of the table from these figures, none measured here
    details: Callable[[dict, "Bench"], list[str]] = lambda figures, bench: []  # text below the table


class Line(NamedTuple):
    """One line of the table. is_met None: there is no target, or nothing to compare it with."""
    work: str
    figure: str
    limit: str = ""
    ratio: str = ""
    target: str = ""
    is_met: bool | None = None


class Bench(NamedTuple):
    """What a row may use of the run it belongs to."""
    folder: pathlib.Path  # empty, on the disk that is measured, the row's alone
    seconds: float  # how long a load lasts
    is_quick: bool
    options: Any  # of the command line
    found: dict  # figures of rows before this one by name, and "limit": the limit program's
    say: Callable[[str], None]


def all_rows():
    """By the names of the modules, then in the order of each ROWS."""
    folder = pathlib.Path(__file__).parent
    rows = []
    for path in sorted(folder.glob("rows_*.py")):
        rows += importlib.import_module(path.stem).ROWS
    names = [row.name for row in rows]
    assert len(names) == len(set(names)), f"two rows have one name: {sorted(names)}"
    return rows


def print_table(lines):
    columns = ("work", "figure", "limit", "ratio", "target")
    widths = {name: max([len(name)] + [len(getattr(line, name)) for line in lines]) for name in columns}
    print("  ".join(name.ljust(widths[name]) for name in columns).rstrip())
    for line in lines:
        text = "  ".join(getattr(line, name).ljust(widths[name]) for name in columns)
        print((text + ("  missed" if line.is_met is False else "")).rstrip())
