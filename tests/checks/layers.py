#!/usr/bin/env python3
"""Holds the walls of server/layers.txt: who may include whom, and each third-party header's owners.

    a b: c d/e.h     files of a/ and b/ may include c/, the one header d/e.h, and their own folder; * is everything
    rooms a: . b c   inside a, the files of its top folder may include a/b and a/c, those of a/b may include a/c; never upwards
    <lib.h>: x/y.c   only x/y.c includes <lib.h>; both sides are globs, several owners are separated by spaces

Headers are checked like sources. System headers are free; any other <header> needs a row.
"""

import fnmatch
import pathlib
import re
import sys

from source import ROOT, find_files, finish

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SYSTEM_FOLDERS = {"sys", "netinet", "arpa", "linux", "net", "asm", "bits"}
SYSTEM_HEADERS = set("""
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
    stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
    dirent dlfcn endian fcntl fnmatch ftw getopt glob grp langinfo libgen malloc netdb poll pthread pwd regex sched semaphore spawn
    strings syslog termios unistd utime execinfo immintrin x86intrin arm_neon""".split())


class Walls:
    """The parsed table."""

    def __init__(self, text):
        self.allowed, self.owners, self.rooms, self.faults = {}, [], {}, []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            left, colon, right = line.partition(":")
            if not colon:
                self.faults.append(f"server/layers.txt:{number}: a row is 'names: what they may include'")
            elif left == "circle":
                continue  # rooms.py
            elif left.startswith("rooms "):
                layer = left.split()[1]
                self.rooms[layer] = [layer if room == "." else f"{layer}/{room}" for room in right.split()]
            elif left.startswith("<") and left.rstrip().endswith(">"):
                self.owners.append((left.strip()[1:-1], right.split()))
            else:
                for name in left.split():
                    if name in self.allowed:
                        self.faults.append(f"server/layers.txt:{number}: {name} has a row already")
                    self.allowed[name] = right.split()

    def may_include(self, layer, header):
        target = header.split("/")[0]
        allowed = self.allowed.get(layer, [])
        return target == layer or target in allowed or header in allowed or "*" in allowed

    def is_upwards(self, name, header):
        """Within one layer, from a room to one that stands above it."""
        order = self.rooms.get(layer_of(name), [])
        source, target = room_of(name), room_of(header)
        return source in order and target in order and order.index(target) < order.index(source)

    def room_faults(self, server):
        """Folders of a layer with rooms that have no place among them, and places without a folder."""
        for layer, order in self.rooms.items():
            folders = {path.parent.relative_to(server).as_posix() for path in (server / layer).rglob("*.[ch]")}
            for room in sorted(folders ^ set(order)):
                yield f"server/layers.txt: rooms {layer}: {room} has no {'place' if room in folders else 'folder'}"

    def owners_of(self, header):
        """None: nobody's, the header is not in the table."""
        found = [owner for pattern, owners in self.owners if fnmatch.fnmatchcase(header, pattern) for owner in owners]
        return found or None


def is_system(header):
    return header.split("/")[0] in SYSTEM_FOLDERS if "/" in header else header.removesuffix(".h") in SYSTEM_HEADERS


def check_system_include(walls, name, header):
    owners = walls.owners_of(header)
    if owners is None:
        return None if is_system(header) else f"<{header}> has no owner in layers.txt"
    if any(fnmatch.fnmatchcase(name, owner) for owner in owners):
        return None
    return f"<{header}> belongs to {' '.join(owners)}"


def check_own_include(walls, server, name, header):
    if "/" not in header or header.startswith((".", "/")):
        return f'"{header}": write the path from server/'
    if not (server / header).is_file():
        return f'"{header}" does not exist below server/'
    layer = layer_of(name)
    if not walls.may_include(layer, header):
        return f'{layer} may not include "{header}"'
    if walls.is_upwards(name, header):
        return f'{room_of(name)} may not include "{header}": that room stands above it'
    return None


def room_of(name):
    return name.rsplit("/", 1)[0]


def layer_of(name):
    return name.split("/")[0] if "/" in name else "app"


def check(root):
    """(faults, number of files)"""
    server = pathlib.Path(root) / "server"
    walls = Walls((server / "layers.txt").read_text())
    faults, count, unknown = walls.faults + list(walls.room_faults(server)), 0, set()
    for path in find_files(server, ".c", ".h"):
        name = path.relative_to(server).as_posix()
        count += 1
        if layer_of(name) not in walls.allowed:
            unknown.add(layer_of(name))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            kind, header = found.groups()
            fault = (check_system_include(walls, name, header) if kind == "<"
                else check_own_include(walls, server, name, header))
            if fault:
                faults.append(f"server/{name}:{number}: {fault}")
    faults += [f"server/{layer}: no row in layers.txt" for layer in sorted(unknown)]
    return faults, count


if __name__ == "__main__":
    finish("layers", *check(sys.argv[1] if len(sys.argv) > 1 else ROOT))
