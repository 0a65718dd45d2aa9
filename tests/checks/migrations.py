#!/usr/bin/env python3
"""Two migrations of one number: a database that has seen the one would never see the other."""

import collections

from source import ROOT, finish


def doubles(names):
    by_number = collections.defaultdict(list)
    for name in sorted(names):
        by_number[name[:4]].append(name)
    return [files for files in by_number.values() if len(files) > 1]


def main():
    names = [path.name for path in (ROOT / "migrations/sqlite").glob("*.sql")]
    finish("migrations", [f"migrations/sqlite: one number, several files: {', '.join(files)}; the newer one takes the next free number"
        for files in doubles(names)], len(names))


if __name__ == "__main__":
    main()
