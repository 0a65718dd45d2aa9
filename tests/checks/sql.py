#!/usr/bin/env python3
"""One text of SQL for two databases: every statement of server/store/sql PREPAREs on SQLite and on PostgreSQL, each with the schema
that its migrations make, and both schemas say the same."""

import collections
import concurrent.futures
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

import schemas
from source import ROOT, finish

sys.path.insert(0, str(ROOT / "tests/support"))
from postgres import Cluster  # noqa: E402

FOLDERS = ("server/store/sql", "server/store/driver")
# Ours, in SQL, while SQLite alone has them: they ask C of a row.
PREDICATES = ("job_matches", "job_one", "job_log")
# What a statement may give and take: bind_… and column_… have no other types.
TYPES = {"bigint": "bigint", "integer": "bigint", "smallint": "bigint", "text": "text", "bytea": "bytea", "double precision": "double precision",
    "unknown": "text"}

Statement = collections.namedtuple("Statement", "place text")

# ---- the statements: literals as the compiler has them, macros and all ----

_MARKER = re.compile(r'^# (\d+) "([^"]*)".*\n', re.MULTILINE)
_TOKEN = re.compile(r'"(?P<text>(?:\\.|[^"\\])*)"|\'(?:\\.|[^\'\\])*\'|(?P<word>\w+)|(?P<space>\s+)|.', re.DOTALL)
_ESCAPES = re.compile(r"\\(U[0-9a-fA-F]{8}|.)")
_VERB = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
# Not for both: the driver has functions for what these do.
_FOREIGN = re.compile(r"\s*(PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|CREATE|DROP|ALTER|VACUUM|ATTACH)\b")
# Who gets a piece of a statement that is put together while the program runs.
_PUTS_TOGETHER = re.compile(r"search_add\w*|buf_\w+|v?snprintf")


def _unescape(text):
    plain = {"n": "\n", "t": "\t", "0": "\0"}
    return _ESCAPES.sub(lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "U" else plain.get(m[1], m[1]), text)


def _own_parts(preprocessed, name):
    """(first line, text) of what stands in the file itself, not in what it includes."""
    markers = list(_MARKER.finditer(preprocessed))
    for marker, following in zip(markers, [*markers[1:], None]):
        if marker[2].endswith(name):
            yield int(marker[1]), preprocessed[marker.end(): following.start() if following else None]


def find_literals(preprocessed, name):
    """(line, text, calls around it) of each string of the file itself; neighbours are one string, as in C."""
    calls, last_word, pending = [], "", None
    for line, part in _own_parts(preprocessed, name):
        for token in _TOKEN.finditer(part):
            text = token[0]
            if token["text"] is not None:
                pending = (pending[0], pending[1] + _unescape(token["text"])) if pending else (line, _unescape(token["text"]))
            elif not token["space"]:
                if pending:
                    yield *pending, tuple(calls)
                    pending = None
                if text == "(":
                    calls.append(last_word)
                elif text == ")" and calls:
                    calls.pop()
                last_word = token["word"] or ""
            line += text.count("\n")
    if pending:
        yield *pending, tuple(calls)


def preprocess(path):
    command = ["gcc", "-E", "-std=gnu17", "-D_GNU_SOURCE", "-Iserver", str(path.relative_to(ROOT))]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def statements_of(preprocessed, name):
    """Whole statements, and faults: what begins as one that only the driver may know."""
    found, faults = {}, []
    for line, text, calls in find_literals(preprocessed, name):
        if any(_PUTS_TOGETHER.fullmatch(call) for call in calls):
            continue
        if _VERB.match(text):
            text = text.replace(":now", "?")  # as search_add has it
            found.setdefault(text, Statement(f"{name}:{line}", text))
        elif _FOREIGN.match(text) and name.startswith("server/store/sql/"):
            faults.append(f"{name}:{line}: '{text[:60]}' is no statement for both databases; it belongs behind a function of the driver")
    return list(found.values()), faults


def find_statements():
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.c"))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = list(pool.map(preprocess, paths))
    statements, faults = [], []
    for path, text in zip(paths, texts):
        ours, wrong = statements_of(text, str(path.relative_to(ROOT)))
        statements += ours
        faults += wrong
    return statements, faults, len(paths)


# ---- as PostgreSQL spells them: by the driver's own function ----

def spell(texts):
    """[(text for PostgreSQL, how many parameters, text for many at once)]"""
    sources = ["tests/checks/spell.c", "server/store/driver/dialect.c", "server/base/buf.c", "server/base/alloc.c", "server/base/error.c",
        "server/base/span.c"]
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/spell"
        subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-Iserver", "-o", program, *sources], cwd=ROOT, check=True)
        out = subprocess.run([program], input="\0".join(texts) + "\0", capture_output=True, text=True, check=True).stdout
    parts = out.split("\0")[:-1]
    return [(parts[at + 1], int(parts[at]), parts[at + 2]) for at in range(0, len(parts), 3)]


# ---- what PREPARE does not look at ----

_INSERT = re.compile(r"\s*INSERT INTO (\w+) \(([^)]*)\)")


def missing_columns(text, tables):
    """Columns that a row cannot be without and that an INSERT does not name: SQLite numbers rows by itself, PostgreSQL does not."""
    match = _INSERT.match(text)
    if not match:
        return []
    given = {name.strip() for name in match[2].split(",")}
    return [name for name, column in tables[match[1]]["columns"].items()
        if name not in given and not column["may be NULL"] and column["default"] is None]


# ---- SQLite ----

def prepare_on_sqlite(database, text, parameters):
    """None, or what is wrong."""
    try:
        database.execute("EXPLAIN " + text, [None] * parameters)
    except sqlite3.Error as error:
        return str(error)
    return None


def open_sqlite():
    database = sqlite3.connect(":memory:")
    schemas.migrate_sqlite(database)
    for name in PREDICATES:
        database.create_function(name, 2, lambda bound, column: 0, deterministic=True)
    database.create_function("get_bit", 2, lambda bits, at: 0, deterministic=True)
    return database


# ---- PostgreSQL ----

_TRY = """
CREATE FUNCTION pg_temp.attempt(name text, types text, body text) RETURNS text LANGUAGE plpgsql AS $f$
BEGIN
	EXECUTE 'PREPARE ' || name || types || ' AS ' || body;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $f$;
"""


def quoted(text):
    return "$sm$" + text + "$sm$"


def _attempt(cluster, rows):
    """rows: (name, types, text). {name: (what is wrong or None, types of its parameters)}"""
    calls = "".join(f"SELECT json_build_array({quoted(name)}, pg_temp.attempt({quoted(name)}, {quoted(types)}, {quoted(text)}));\n"
        for name, types, text in rows)
    out = cluster.psql(_TRY + calls + "SELECT json_build_array(name, array_to_json(parameter_types::text[])) FROM pg_prepared_statements;")
    answers = [json.loads(line) for line in out.splitlines()]
    wrong = dict(answers[: len(rows)])
    types = dict(answers[len(rows):])
    return {name: (wrong[name], types.get(name, [])) for name, _, _ in rows}


def _dense(text):
    """With the parameters that there are numbered without a gap: psql has no other word for one that is not used."""
    numbers = sorted({int(number) for number in re.findall(r"\$(\d+)", text)})
    return re.sub(r"\$(\d+)", lambda match: f"${numbers.index(int(match[1])) + 1}", text)


def _result_types(cluster, texts):
    """Types of the columns of each."""
    out = cluster.psql("".join(f"\\echo @\n{_dense(text)}\\gdesc\n" for text in texts))
    return [[row.split("|")[-1] for row in part.splitlines() if "|" in row] for part in out.split("@\n")[1:]]


_UNKNOWN = re.compile(r"could not determine data type of parameter \$(\d+)")


def _infer(cluster, texts):
    """[(what is wrong or None, types of the parameters)]. One that is bound and not used, as where several statements bind the same, has
    no type to infer: any does."""
    rows = _attempt(cluster, [(f"i{at}", "", text) for at, text in enumerate(texts)])
    results = [rows[f"i{at}"] for at in range(len(texts))]
    unused = {at: _UNKNOWN.match(wrong) for at, (wrong, _) in enumerate(results) if wrong and _UNKNOWN.match(wrong)}
    types = {at: "(" + "unknown, " * (int(match[1]) - 1) + "text)" for at, match in unused.items()}
    again = _attempt(cluster, [(f"u{at}", types[at], texts[at]) for at in unused])
    for at in unused:
        results[at] = again[f"u{at}"]
    return results


def prepare_on_postgres(cluster, spelled):
    """What is wrong with each, or None. As the server infers the types of the parameters, with the four that are ever bound, and what is
    looked up by numbers alone for many at once, too: it may be asked ahead (server/store/postgres/joined.c)."""
    texts = [text for text, _, _ in spelled]
    first = _infer(cluster, texts)
    wrong = [one for one, _ in first]
    typed = []
    for at, text in enumerate(texts):
        types = first[at][1]
        strange = [one for one in types if one not in TYPES]
        if strange:
            wrong[at] = wrong[at] or f"a parameter is of type {strange[0]}, and nothing binds that"
        elif types and not wrong[at]:
            typed.append((at, (f"d{at}", "(" + ", ".join(TYPES[one] for one in types) + ")", text)))
    second = _attempt(cluster, [row for _, row in typed])
    for at, row in typed:
        wrong[at] = second[row[0]][0]
    numbers = [at for at in range(len(texts)) if not wrong[at] and re.match(r"\s*(SELECT|WITH)\b", texts[at])
        and 1 <= len(first[at][1]) <= 4 and {TYPES[one] for one in first[at][1]} == {"bigint"}]
    many = _attempt(cluster, [(f"m{at}", "", spelled[at][2]) for at in numbers])
    for at in numbers:
        problem = many[f"m{at}"][0]
        wrong[at] = problem and f"for many at once: {problem}"
    print(f"PostgreSQL: {len(numbers)} look-ups by numbers, {sum(not wrong[at] for at in numbers)} of them understood for many at once")
    right = [at for at in range(len(texts)) if not wrong[at]]
    for at, types in zip(right, _result_types(cluster, [texts[at] for at in right])):
        strange = [one for one in types if one not in TYPES]
        if strange:
            wrong[at] = f"gives a column of type {strange[0]}, and nothing reads that"
    return wrong


def main():
    statements, faults, file_count = find_statements()
    texts = [one.text for one in statements]
    spelled = spell(texts)
    database = open_sqlite()
    on_sqlite = [prepare_on_sqlite(database, text, count) for text, (_, count, _) in zip(texts, spelled)]
    with Cluster() as cluster:
        cluster.psql(schemas.postgres_script())
        on_postgres = prepare_on_postgres(cluster, spelled)
        postgres = schemas.describe_postgres(cluster)
        faults += schemas.compare(schemas.describe_sqlite(database), postgres)
    for name, wrongs in (("SQLite", on_sqlite), ("PostgreSQL", on_postgres)):
        print(f"{name}: {sum(not one for one in wrongs)} of {len(statements)} statements are understood")
        faults += [f"{one.place}: {name}: {wrong}: {one.text}" for one, wrong in zip(statements, wrongs) if wrong]
    for one in statements:
        faults += [f"{one.place}: the row gets no {name}: {one.text}" for name in missing_columns(one.text, postgres["tables"])]
    finish("sql", faults, file_count)


if __name__ == "__main__":
    main()
