#!/usr/bin/env python3
"""No circles: of rooms (the folders below server/ and web/src) and files of the page never, of files of the server only those that layers.txt names.

    circle: a/x a/y    these files include each other; ARCHITECTURE.md says why

And what a header declares is defined in its own room: else a room calls another that it does not include.

With --draw it prints the rooms, how many includes go from each to which, and the circles.
"""

import collections
import pathlib
import posixpath
import re
import sys

from source import ROOT, find_files, finish

IMPORT = re.compile(r"""\b(?:from|import)\s*\(?\s*["'](\.[^"'?]*)""")
FACES = ("store", "store/driver")  # the verbs of all of the store's rooms, and what these ask of a database: other rooms define them
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(r"^(?!static\b|typedef\b)[a-z_][\w *]*?\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
DECLARATION = re.compile(r"^(?!static\b|typedef\b|extern\b)[a-z_][\w *]*?\b(\w+)\([^;{}]*\)[^;{}]*;", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def includes_of(server):
    """name -> names that it includes, of all files below server/"""
    names = {path.relative_to(server).as_posix(): path.read_text() for path in find_files(server, ".c", ".h")}
    return {name: [header for header in INCLUDE.findall(text) if header in names] for name, text in names.items()}


def imports_of(page):
    """The same of the page's files, below web/src/."""
    names = {path.relative_to(page).as_posix(): path.read_text() for path in find_files(page, ".ts", ".tsx")}
    found = {}
    for name, text in names.items():
        targets = [posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) for target in IMPORT.findall(text)]
        found[name] = [target + suffix for target in targets for suffix in (".ts", ".tsx") if target + suffix in names]
    return found


def foreign_declarations(server):
    """Functions of a header that only another room defines."""
    texts = {path.relative_to(server).as_posix(): COMMENT.sub("", path.read_text()) for path in find_files(server, ".c", ".h")}
    homes = collections.defaultdict(set)
    for name, text in texts.items():
        for function in DEFINITION.findall(text) if name.endswith(".c") else ():
            homes[function].add(room_of(name))
    for name, text in sorted(texts.items()):
        for function in DECLARATION.findall(text) if name.endswith(".h") and room_of(name) not in FACES else ():
            if homes[function] and room_of(name) not in homes[function]:
                yield f"server/{name}: declares {function}, which is of {' '.join(sorted(homes[function]))}"


def room_of(name):
    return name.rsplit("/", 1)[0] if "/" in name else "."


def stem(name):
    return name.rsplit(".", 1)[0]


def circles(graph):
    """Strongly connected parts with more than one member (R. Tarjan, 1972), each sorted."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return sorted(found)


def graphs(includes):
    """(of rooms, with counts; of files without their suffix)"""
    rooms, files = collections.Counter(), collections.defaultdict(set)
    for name, headers in includes.items():
        for header in headers:
            if room_of(name) != room_of(header):
                rooms[room_of(name), room_of(header)] += 1
            if stem(name) != stem(header):
                files[stem(name)].add(stem(header))
    return rooms, files


def of_pairs(pairs):
    graph = collections.defaultdict(set)
    for source, target in pairs:
        graph[source].add(target)
    return graph


def named_circles(server):
    lines = (server / "layers.txt").read_text().splitlines()
    return [sorted(line.split("#")[0].partition(":")[2].split()) for line in lines if line.startswith("circle:")]


def check(root):
    """(faults, number of files)"""
    server = pathlib.Path(root) / "server"
    includes, named = includes_of(server), named_circles(server)
    rooms, files = graphs(includes)
    found = circles(files)
    faults = [f"server: a circle of rooms: {' '.join(part)}" for part in circles(of_pairs(rooms))]
    page = imports_of(pathlib.Path(root) / "web" / "src")
    page_rooms, page_files = graphs(page)
    faults += [f"web/src: a circle of rooms: {' '.join(part)}" for part in circles(of_pairs(page_rooms))]
    faults += [f"web/src: a circle of files: {' '.join(part)}" for part in circles(page_files)]
    faults += [f"server: a circle of files that layers.txt does not name: {' '.join(part)}" for part in found if part not in named]
    faults += [f"server/layers.txt: there is no such circle any more: {' '.join(part)}" for part in named if part not in found]
    faults += foreign_declarations(server)
    return faults, len(includes) + len(page)


def draw(root):
    for side, includes in (("server", includes_of(pathlib.Path(root) / "server")), ("web/src", imports_of(pathlib.Path(root) / "web" / "src"))):
        rooms, files = graphs(includes)
        print(f"---- {side}")
        for source, targets in sorted(of_pairs(rooms).items()):
            print(f"{source}: " + " ".join(f"{target} {rooms[source, target]}" for target in sorted(targets)))
        for kind, graph in (("rooms", of_pairs(rooms)), ("files", files)):
            for part in circles(graph):
                print(f"circle of {kind}: {' '.join(part)}")


if __name__ == "__main__":
    if "--draw" in sys.argv:
        draw(ROOT)
    else:
        finish("rooms", *check(sys.argv[1] if len(sys.argv) > 1 else ROOT))
