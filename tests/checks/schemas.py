"""The schemas that the migrations of SQLite and of PostgreSQL make, described alike and compared."""

import json
import re

from source import ROOT

SCHEMA = "sm_check"
KINDS = {"INTEGER": "whole number", "bigint": "whole number", "REAL": "double", "double precision": "double", "TEXT": "text", "text": "text",
    "BLOB": "bytes", "bytea": "bytes"}


def migrations(engine):
    return [path.read_text() for path in sorted((ROOT / "migrations" / engine).glob("*.sql"))]


def migrate_sqlite(database):
    for text in migrations("sqlite"):
        database.executescript(text)


def postgres_script():
    """As migrate does it: all tables in a schema of their own."""
    return f"BEGIN; CREATE SCHEMA {SCHEMA}; SET LOCAL search_path TO {SCHEMA};\n" + "\n".join(migrations("postgres")) + \
        f"\nCOMMIT; ALTER ROLE CURRENT_USER SET search_path TO {SCHEMA};"


def plain(sql):
    """What is left of a piece of SQL when quotes, brackets, spaces and casts are gone, which both databases print in their own ways."""
    if sql is None:
        return None
    sql = re.sub(r"--[^\n]*", "", sql)
    sql = re.sub(r"\s+", " ", sql).replace("!=", "<>")
    sql = re.sub(r"CAST\s*\(\s*(\w+) AS DOUBLE PRECISION\s*\)", r"\1", sql, flags=re.IGNORECASE)
    sql = re.sub(r"::(double precision|\w+)", "", sql)
    return re.sub(r"[()\"' ]", "", sql).lower()


_INDEX = re.compile(r"CREATE (UNIQUE )?INDEX (?:IF NOT EXISTS )?(\w+) ON (?:\w+\.)?(\w+) (?:USING btree )?(\(.*?\))(?: WHERE (.*))?$", re.DOTALL)


def describe_index(sql):
    unique, name, table, columns, where = _INDEX.match(re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", sql))).groups()
    return name, {"table": table, "is unique": bool(unique), "columns": plain(columns), "where": plain(where)}


def describe(columns, indexes, rows):
    """columns: (table, column, type, may be NULL, default, place in the key or 0). rows: those that a new database begins with."""
    tables = {}
    for table, column, kind, may_be_null, default, place in columns:
        known = tables.setdefault(table, {"columns": {}, "key": {}})
        known["columns"][column] = {"kind": KINDS.get(kind, kind), "may be NULL": may_be_null and not place, "default": plain(default)}
        if place:
            known["key"][place] = column
    for known in tables.values():
        known["key"] = [known["key"][place] for place in sorted(known["key"])]
        known["order"] = list(known["columns"])  # SELECT * gives them so
    return {"tables": tables, "indexes": dict(describe_index(sql) for sql in indexes), "rows": rows}


def describe_sqlite(database):
    names = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    columns = [(table, name, kind, not notnull, default, place) for table in names
        for _, name, kind, notnull, default, place in database.execute(f"PRAGMA table_info({table})")]
    indexes = [sql for sql, in database.execute("SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")]
    rows = {table: sorted([one.decode() if isinstance(one, bytes) else str(one) for one in row] for row in database.execute(f"SELECT * FROM {table}"))
        for table in names}
    return describe(columns, indexes, rows)


_COLUMNS = f"""
SELECT json_build_array(c.relname, a.attname, format_type(a.atttypid, NULL) || CASE WHEN o.collname <> 'C' THEN ' COLLATE ' || o.collname ELSE '' END,
	NOT a.attnotnull, pg_get_expr(d.adbin, d.adrelid), coalesce(array_position(k.conkey, a.attnum), 0))
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
LEFT JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.contype = 'p'
WHERE c.relnamespace = '{SCHEMA}'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname, a.attnum;
"""
_INDEXES = f"""
SELECT json_build_array(pg_get_indexdef(i.indexrelid)) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
WHERE c.relnamespace = '{SCHEMA}'::regnamespace AND NOT i.indisprimary AND NOT c.relispartition;
"""


def _rows_query(table, columns):
    """Its rows as lists of texts."""
    texts = [f"convert_from({name}, 'UTF8')" if column["kind"] == "bytes" else f"{name}::text" for name, column in columns.items()]
    return f"SELECT json_build_array('{table}', json_build_array({', '.join(texts)})) FROM {table};"


def describe_postgres(cluster):
    def read(script):
        return [json.loads(line) for line in cluster.psql(script).splitlines()]
    described = describe(read(_COLUMNS), [sql for sql, in read(_INDEXES)], {})
    described["rows"] = {table: [] for table in described["tables"]}
    for table, row in read("\n".join(_rows_query(table, known["columns"]) for table, known in described["tables"].items())):
        described["rows"][table].append(row)
    for rows in described["rows"].values():
        rows.sort()
    return described


def without_own(schema):
    """What each has in its own way: who may read it, and the parts of the journal's records, of which a file has one each."""
    tables = {name: {**known, "key": known["key"][:1]} if name == "journal" else known for name, known in schema["tables"].items()}
    rows = {**schema["rows"], "settings": [row for row in schema["rows"].get("settings", []) if row[0] != "min_reader"]}
    return {**schema, "tables": tables, "rows": rows}


def _differences(ours, theirs, path):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            where = path + (name,)
            if name not in theirs:
                yield f"{': '.join(where)}: only SQLite has it"
            elif name not in ours:
                yield f"{': '.join(where)}: only PostgreSQL has it"
            else:
                yield from _differences(ours[name], theirs[name], where)
    elif ours != theirs:
        yield f"{': '.join(path)}: SQLite has {ours}, PostgreSQL has {theirs}"


def compare(sqlite, postgres):
    """Faults: what one of them has, and the other not or otherwise."""
    sqlite, postgres = without_own(sqlite), without_own(postgres)
    return [f"migrations: {one}" for one in _differences(sqlite, postgres, ())]
