"""Each checker must find what is planted, and only that."""

import banned
import docs
import layers
import migrations
import pytest
import rooms
import routes
import schemas
import sizes
import source
import sql
import texts

TABLE = """# comment
base:
model net: base
alert: net model base
pipeline: alert/rule.h model base   # one header of alert
rooms pipeline: . jobs state
app: *
<sqlite3.h>: store/sqlite/*
<lib/*>: base/a.c net/b.c
"""


@pytest.fixture
def tree(tmp_path):
    """plant("server/base/x.c", text) writes a file into a small repository."""
    def plant(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    plant.root = tmp_path
    plant("server/layers.txt", TABLE)
    for header in ("pipeline/x.h", "pipeline/jobs/x.h", "pipeline/state/x.h", "base/x.h", "model/x.h", "net/x.h", "alert/rule.h", "alert/webhook.h"):
        plant(f"server/{header}", "#pragma once\n")
    return plant


def faults_of(module, root):
    return module.check(root)[0]


# ---- layers ----
@pytest.mark.parametrize("name, include", [
    ("base/a.c", '"base/x.h"'),
    ("model/a.c", '"base/x.h"'),
    ("pipeline/a.c", '"alert/rule.h"'),
    ("main.c", '"alert/webhook.h"'),
    ("pipeline/a.c", '"pipeline/jobs/x.h"'),
    ("pipeline/jobs/a.c", '"pipeline/state/x.h"'),
    ("pipeline/jobs/a.c", '"pipeline/jobs/x.h"'),
    ("app/a.c", '"net/x.h"'),
    ("base/a.c", "<stdio.h>"),
    ("base/a.c", "<sys/socket.h>"),
    ("base/a.c", "<lib/deep.h>"),
    ("net/b.c", "<lib/deep.h>"),
])
def test_layers_allow(tree, name, include):
    tree(f"server/{name}", f"#include {include}\n")
    assert faults_of(layers, tree.root) == []


@pytest.mark.parametrize("name, include, words", [
    ("base/a.c", '"model/x.h"', "base may not include"),
    ("base/a.h", '"model/x.h"', "base may not include"),
    ("model/a.c", '"net/x.h"', "model may not include"),
    ("pipeline/state/a.h", '"pipeline/jobs/x.h"', "stands above"),
    ("pipeline/jobs/a.c", '"pipeline/x.h"', "stands above"),
    ("pipeline/new/a.c", '"base/x.h"', "pipeline/new has no place"),
    ("pipeline/a.c", '"alert/webhook.h"', "pipeline may not include"),
    ("pipeline/a.c", '"alert/gone.h"', "does not exist"),
    ("base/a.c", '"x.h"', "path from server/"),
    ("base/a.c", '"../base/x.h"', "path from server/"),
    ("base/b.c", "<lib/deep.h>", "belongs to base/a.c net/b.c"),
    ("base/a.c", "<sqlite3.h>", "belongs to store/sqlite/*"),
    ("base/a.c", "<uv.h>", "has no owner"),
    ("new/a.c", "<stdio.h>", "no row in layers.txt"),
])
def test_layers_refuse(tree, name, include, words):
    tree(f"server/{name}", f"\n#  include {include}\n")
    found = faults_of(layers, tree.root)
    assert len(found) == 1 and words in found[0], found


def test_layers_table_is_checked(tree):
    tree("server/layers.txt", TABLE + "base: model\nnonsense\n")
    assert len(faults_of(layers, tree.root)) == 2


# ---- rooms ----
def test_rooms(tree):
    for name, header in [("base/a.h", "base/b.h"), ("base/b.c", "base/a.h"), ("base/b.h", "base/x.h"), ("net/n.h", "base/x.h"),
            ("model/a.c", "net/x.h"), ("net/a.c", "model/x.h")]:
        tree(f"server/{name}", f'#include "{header}"\n')
    assert faults_of(rooms, tree.root) == ["server: a circle of rooms: model net",
        "server: a circle of files that layers.txt does not name: base/a base/b"]
    tree("server/layers.txt", TABLE + "circle: base/b base/a  # why\ncircle: net/x net/y\n")
    assert faults_of(rooms, tree.root) == ["server: a circle of rooms: model net", "server/layers.txt: there is no such circle any more: net/x net/y"]


def test_a_header_declares_what_its_room_defines(tree):
    tree("server/base/a.h", "/* int told(void); */\nint own(void);\nint far(\n\tint a, int b) MUST_CHECK;\nstatic inline int both(void)\n{\n\treturn 1;\n}\n")
    tree("server/base/a.c", "int own(void)\n{\n}\n")
    tree("server/net/n.c", "int far(\n\tint a, int b)\n{\n}\n\nint told(void)\n{\n}\n\nint both(void)\n{\n}\n")
    assert faults_of(rooms, tree.root) == ["server/base/a.h: declares far, which is of net"]


def test_rooms_of_the_page(tree):
    tree("web/src/lib/a.ts", 'import { b } from "../state/b";\n')
    tree("web/src/state/b.ts", "export const b = 1;\n")
    assert faults_of(rooms, tree.root) == []
    tree("web/src/state/c.tsx", 'const later = () => import("../lib/a");\n')
    assert faults_of(rooms, tree.root) == ["web/src: a circle of rooms: lib state"]
    tree("web/src/state/c.tsx", "")
    tree("web/src/state/d.ts", 'import "./b";\n')
    tree("web/src/state/b.ts", 'import "./d";\n')
    assert faults_of(rooms, tree.root) == ["web/src: a circle of files: state/b state/d"]


# ---- banned ----
def banned_in(text, name="http/a.c"):
    return [message for _, message in banned.check_text(name, text)]


def in_function(statement):
    return f"int f(void)\n{{\n\t{statement}\n\treturn 0;\n}}\n"


@pytest.mark.parametrize("statement", [
    "sprintf(a, b);", "x = strcpy (a, b);", "strncpy(a, b, 1);", "n = atoi(s);", "p = malloc(1);", "if (p) free(p);",
    "p = strdup(s);", "exit(1);", "sleep(1);", "usleep(1);", "p = alloca(3);", "strtok(a, b);", "gets(a);",
    "clock_gettime(0, 0);", "static int counter;", "static struct x *list = NULL;", "static const char *name = 0;",
    "static int table[4] = {1};", "static void (*hook)(void);",
])
def test_banned_refuse(statement):
    assert len(banned_in(in_function(statement))) == 1


@pytest.mark.parametrize("statement", [
    "snprintf(a, 1, b);", "/* sprintf(a) */", 'puts("malloc(");', "x->free(x);", "ops.free(x);", "mem_free(p);",
    "arena_free(p);", "_exit(1);", "static const int table[4] = {1};", "static const char *const names[] = {0};",
    "static struct { int a; } state;", "static _Thread_local struct { int a; } thread_state = {1};", "// strcpy(a, b)",
    "static const struct http_ops ops = {.free = done};", "run_time(x);", "char c = '\"'; /* exit(1) */",
])
def test_banned_allow(statement):
    assert banned_in(in_function(statement)) == []


@pytest.mark.parametrize("text", [
    "int counter;\n", "struct x *list;\n", "char names[3][4] = {\"a\"};\n", "AUTO_TYPE(x)\nint counter = 3;\n",
    "static struct thing { int a; } thing;\n", "int f(void)\n{\n\treturn 0;\n}\nint counter;\n",
    "const char *text = \"x\";\n", "_Thread_local int counter;\n",
])
def test_globals_refuse(text):
    assert len(banned_in(text)) == 1, banned_in(text)


@pytest.mark.parametrize("text", [
    "struct x {\n\tint a;\n};\n", "enum { A = 1, B };\n", "const int table[] = {1, 2};\n", "int f(int a);\n",
    "AUTO_TYPE(x)\nstatic int f(int a)\n{\n\treturn a;\n}\n", "http_handler api_a, api_b;\n", "typedef int number;\n",
    "extern const int table[];\n", "#define X int counter;\n", "static int f(void (*done)(void *), int a)\n{\n\treturn a;\n}\n",
    "static inline int f(void)\n{\n\treturn 0;\n}\n", "static __attribute__((cold)) int f(void)\n{\n\treturn 0;\n}\n",
    "_Static_assert(1, \"x\");\n", "void f(int (*take)(int))\n{\n}\n", "const char *const names[] = {\"a\"};\n",
])
def test_globals_allow(text):
    assert banned_in(text) == []


def test_banned_knows_the_owners():
    assert banned_in(in_function("p = malloc(1); free(p);"), "base/alloc.c") == []
    assert banned_in(in_function("exit(0);"), "cli/ship_main.c") == []
    assert len(banned_in(in_function("exit(0);"), "cli/sender/sender.c")) == 1


def test_todo_needs_a_number(tree):
    tree("server/base/a.c", "/* TODO: later */\n/* TODO(#12): that */\n")
    tree("web/src/a.ts", "// FIXME\n")
    tree("tests/run", "# XXX\n")
    assert len(faults_of(banned, tree.root)) == 3


# ---- sizes ----
def test_sizes(tree):
    tree("server/base/long.c", "int f(void)\n{\n" + "\t;\n" * 61 + "}\n" + "int g(void)\n{\n" + "\t;\n" * 60 + "}\n")
    tree("server/base/big.h", "\n" * 801)
    tree("server/base/noted.h", "\n" * 501)
    faults, notes, _ = sizes.check(tree.root)
    assert [fault.split(":")[0] for fault in faults] == ["server/base/big.h", "server/base/long.c"]
    assert "61 lines" in faults[1]
    assert [note.split(":")[0] for note in notes] == ["server/base/noted.h"]


# ---- docs ----
def test_docs(tree):
    tree("README.md", "`server/base` `deploy/run --demo` [a](docs/picture.png) [b](https://example.org/x) `a/b` `build/x`\n")
    tree("ARCHITECTURE.md", "base model net pipeline; `net/x.h` `net/gone.h`\n")
    tree("deploy/demo.py", "")
    tree("Makefile", "build: page\npage:\n")
    tree("tests/run", "SM_JOBS=2\n")
    tree("SECURITY.md", "`tests/gone` [a](README.md)\n")
    tree("CONTRIBUTING.md", "`make build`, `make gone`, SM_JOBS, `server/net/NAME.c`, `server/no/NAME.c`\n```\nSM_GONE=1 tests/run tests/gone.py   # tests/comment.py\nmake all\n```\n")
    tree("docs/a.md", "`net/gone.h` in `docs/internals`\n```\nserver/example\n```\n")
    tree("docs/internals/b.md", "```\nserver/gone\n```\n`demo.py` `gone.c`\n")
    found = faults_of(docs, tree.root)
    assert sorted(found) == [
        "ARCHITECTURE.md: does not tell of server/alert",
        "ARCHITECTURE.md: speaks of `net/gone.h`, which does not exist",
        "CONTRIBUTING.md: `make all` is no target",
        "CONTRIBUTING.md: `make gone` is no target",
        "CONTRIBUTING.md: nothing reads SM_GONE",
        "CONTRIBUTING.md: speaks of `server/no/NAME.c`, which does not exist",
        "CONTRIBUTING.md: speaks of `tests/gone.py`, which does not exist",
        "README.md: links to docs/picture.png, which does not exist",
        "README.md: speaks of `deploy/run`, which does not exist",
        "SECURITY.md: speaks of `tests/gone`, which does not exist",
        "docs/a.md: speaks of `net/gone.h`, which does not exist",
        "docs/internals/b.md: no file is called gone.c",
        "docs/internals/b.md: speaks of `server/gone`, which does not exist",
    ]


def test_bare_code_keeps_the_places():
    text = 'a /* x\n y */ "s\\"t" \'"\' // z\nb'
    bare = source.bare_code(text)
    assert len(bare) == len(text) and bare.count("\n") == text.count("\n")
    assert "x" not in bare and "z" not in bare and bare.endswith("\nb")


def test_migrations_have_a_number_each():
    assert migrations.doubles(["0001_init.sql", "0002_a.sql", "0003_b.sql"]) == []
    assert migrations.doubles(["0001_init.sql", "0002_b.sql", "0002_a.sql"]) == [["0002_a.sql", "0002_b.sql"]]


# ---- routes ----
ROUTES = """static const struct http_route routes[] = {
	{HTTP_GET, "/api/v1/info", SCOPE_PUBLIC, ROUTE_WORKER, .query = "", .summary = "Version"},
	{HTTP_POST | HTTP_PUT, "/api/v1/logs", SCOPE_WRITE, ROUTE_UPLOAD, .query = "job",
		.summary =
			"Lines: a|"
			"b"},
	{HTTP_GET, "/{path...}", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_assets, .query = "*"},
};
"""
ROUTE_ROWS = ["| `GET` | `/api/v1/info` | public | Version |", "| `POST` | `/api/v1/logs` | write | Lines: a&#124;b |",
    "| `PUT` | `/api/v1/logs` | write | Lines: a&#124;b |"]


@pytest.mark.parametrize("rows, faults", [
    (ROUTE_ROWS, 0),
    (ROUTE_ROWS[1:], 1),
    ([*ROUTE_ROWS, "| `GET` | `/api/v1/gone` | read | No more |"], 1),
    ([*ROUTE_ROWS[:2], "| `PUT` | `/api/v1/logs` | read | Lines: a&#124;b |"], 2),
    ([*ROUTE_ROWS, ROUTE_ROWS[0]], 1),
    ([*ROUTE_ROWS[:2], "| `PUT` | `/api/v1/logs` | write | Lines |"], 1),
], ids=["the same", "no row", "no route", "another scope", "twice", "another text"])
def test_routes(tree, rows, faults):
    tree("server/api/routes.c", ROUTES)
    tree("docs/api.md", "\n".join(rows))
    assert len(faults_of(routes, tree.root)) == faults


def test_a_route_says_its_query(tree):
    tree("server/api/routes.c", ROUTES.replace('.query = "", ', ""))
    tree("docs/api.md", "\n".join(ROUTE_ROWS))
    assert faults_of(routes, tree.root) == ['server/api/routes.c: the route /api/v1/info says no .query; where it takes none, that is ""']


# ---- texts ----
@pytest.mark.parametrize("table, other, faults", [
    ('"Save {n}": "保存 {n}",\n"one": "1", "few": "2",', "", 1),
    ('"Save {n}": "保存 {n}",\n"one": "1",\n"few": "2",\n"Wait": "等",', "", 0),
    ('"Save {n}": "保存",\n"one": "1",\n"few": "2",\n"Wait": "等",', "", 1),
    ('"Save {n}": "保存 {n}",\n"one": "1",\n"few": "2",\n"Wait": "等",', '"Wait": "等",', 1),
    ('"Save {n}": "保存 {n}",\n"one": "1",\n"few": "2",\n"Wait": "等",', '"Gone": "无",', 1),
], ids=["missing", "all", "places", "twice", "nobody asks"])
def test_texts(tree, table, other, faults):
    tree("web/src/pages/x.tsx", 'const a = t("Save {n}", {n}), b = tn(n, "one", "few"), c = say("Wait");')
    tree("web/src/i18n/zh/a.ts", "export default {\n" + table + "\n};\n")
    tree("web/src/i18n/zh/b.ts", "export default {\n" + other + "\n};\n")
    assert len(faults_of(texts, tree.root)) == faults


def test_what_the_server_says_of_a_definition_is_asked_for(tree):
    tree("server/extract/trial.c", 'const char *trial_warning_text(int w)\n{\n\treturn "none match";\n\treturn "";\n}\n')
    tree("web/src/i18n/zh/a.ts", "export default {\n};\n")
    assert len(faults_of(texts, tree.root)) == 1


# ---- SQL ----
def preprocessed(text):
    return '# 1 "server/store/sql/a.c"\n' + text


def test_statements_are_read_as_the_compiler_has_them():
    text = preprocessed('f(&s, "SELECT a"\n\t" FROM t WHERE b = \'\\"?\'", err);\nx = is ? "DELETE FROM t" : "UPDATE t SET a = 1";\n'
        'search_add(sql, "SELECT 1 FROM (");\nbuf_printf(sql, g("WITH %s"), "SELECT %s");\nerror("SELECTED");\n'
        '# 7 "server/store/driver/rows.h" 1\ng("SELECT other");\n# 9 "server/store/sql/a.c" 2\nf("INSERT INTO t");\n')
    found, faults = sql.statements_of(text, "server/store/sql/a.c")
    assert [(one.place, one.text) for one in found] == [("server/store/sql/a.c:1", "SELECT a FROM t WHERE b = '\"?'"),
        ("server/store/sql/a.c:3", "DELETE FROM t"), ("server/store/sql/a.c:3", "UPDATE t SET a = 1"), ("server/store/sql/a.c:9", "INSERT INTO t")]
    assert faults == []


def test_what_one_database_alone_knows_is_the_drivers():
    _, faults = sql.statements_of(preprocessed('f("BEGIN IMMEDIATE"); f("PRAGMA x"); f("BEGINNING");'), "server/store/sql/a.c")
    assert len(faults) == 2 and "belongs behind a function of the driver" in faults[0]
    assert sql.statements_of(preprocessed('f("BEGIN");'), "server/store/driver/a.c") == ([], [])


def schema(columns=(), indexes=(), rows=()):
    return schemas.describe(columns, indexes, {"settings": list(rows)})


HERE = [("t", "a", "INTEGER", False, None, 1), ("t", "b", "TEXT", True, "''", 0)]
THERE = [("t", "a", "bigint", False, None, 1), ("t", "b", "text", True, "''::text", 0)]


def test_two_schemas_that_say_the_same():
    ours = schema(HERE, ["CREATE UNIQUE INDEX t_b ON t (b, a) WHERE a != 0 -- why", "CREATE INDEX t_c ON t (CAST(a AS DOUBLE PRECISION) / 2)"], [["x", "1"]])
    theirs = schema(THERE, ["CREATE UNIQUE INDEX t_b ON s.t USING btree (b, a) WHERE (a <> 0)",
        "CREATE INDEX t_c ON s.t USING btree (((a)::double precision / (2)::double precision))"], [["x", "1"]])
    assert schemas.compare(ours, theirs) == []


@pytest.mark.parametrize("columns, indexes, rows, words", [
    (THERE[:1], [], [], "b: only SQLite has it"),
    (THERE + [("t", "c", "bigint", True, None, 0)], [], [], "c: only PostgreSQL has it"),
    ([THERE[0], ("t", "b", "bytea", True, "''", 0)], [], [], "SQLite has text, PostgreSQL has bytes"),
    ([THERE[0], ("t", "b", "text COLLATE default", True, "''", 0)], [], [], "COLLATE default"),
    ([THERE[0], ("t", "b", "text", False, "''", 0)], [], [], "may be NULL"),
    ([THERE[0], ("t", "b", "text", True, "'x'", 0)], [], [], "default"),
    ([("t", "a", "bigint", False, None, 1), ("t", "b", "text", True, "''", 2)], [], [], "key: SQLite has ['a'], PostgreSQL has ['a', 'b']"),
    (THERE, ["CREATE INDEX t_b ON t (b)"], [], "t_b: only PostgreSQL has it"),
    (THERE, [], [["x", "1"]], "settings"),
])
def test_a_migration_in_one_schema_alone_is_found(columns, indexes, rows, words):
    found = schemas.compare(schema(HERE), schema(columns, indexes, rows))
    assert any(words in one for one in found), found


@pytest.mark.parametrize("index, words", [("CREATE INDEX t_b ON t (a)", "columns"), ("CREATE UNIQUE INDEX t_b ON t (b)", "is unique"),
    ("CREATE INDEX t_b ON t (b) WHERE a = 0", "where")])
def test_an_index_of_one_schema_that_differs_is_found(index, words):
    found = schemas.compare(schema(HERE, ["CREATE INDEX t_b ON t (b)"]), schema(THERE, [index]))
    assert len(found) == 1 and words in found[0], found


@pytest.fixture(scope="module")
def cluster():
    with sql.Cluster() as one:
        one.psql("CREATE TABLE t (a bigint PRIMARY KEY, b text, c boolean)")
        yield one


def test_what_postgres_does_not_take_is_told(cluster):
    texts = ["SELECT a FROM t WHERE b = ? LIMIT ?", "SELECT iif(a, 1, 2) FROM t", "SELECT c FROM t", "SELECT a FROM t WHERE c = ?",
        "UPDATE t SET b = ? WHERE a = ?", "SELECT sum(a) FROM t", "SELECT a FROM t WHERE a >> ? = 0", "SELECT a FROM t WHERE a = ?",
        "SELECT max(? + 1) FROM t"]
    words = [None, "function iif", "column of type boolean", "parameter is of type boolean", None, "column of type numeric", "operator does not exist",
        None, "for many at once: aggregate"]
    for wrong, expected in zip(sql.prepare_on_postgres(cluster, sql.spell(texts)), words):
        assert (wrong is None) == (expected is None) and (expected or "") in (wrong or ""), (wrong, expected)


def test_the_drivers_own_function_spells():
    one, other = sql.spell(["SELECT ?", "a = ?2 AND b = '?$' || ?"])
    assert one == ("SELECT $1", 1, "SELECT found.*, asked_ahead.n FROM unnest($1::int8[]) WITH ORDINALITY AS asked_ahead(v1, n) "
        "CROSS JOIN LATERAL (SELECT * FROM (SELECT asked_ahead.v1) AS one OFFSET 0) AS found")
    assert other[:2] == ("a = $2 AND b = '?$' || $3", 3)
    assert "(a = asked_ahead.v2 AND b = '?$' || asked_ahead.v3)" in other[2]


def test_an_insert_names_what_a_row_needs():
    tables = schema([("t", "a", "bigint", False, None, 1), ("t", "b", "text", False, None, 0), ("t", "c", "text", False, "''", 0)])["tables"]
    assert sql.missing_columns("INSERT INTO t (a, c) VALUES (?,?)", tables) == ["b"]
    assert sql.missing_columns("INSERT INTO t (a, b) VALUES (?,?)", tables) == []
    assert sql.missing_columns("SELECT 1", tables) == []
