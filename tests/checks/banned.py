#!/usr/bin/env python3
"""Functions that have no place here, sleeping, mutable globals, and TODO without an issue number."""

import fnmatch
import pathlib
import re
import sys

from source import ROOT, bare_code, find_files, finish, line_of

# pattern of names, why, files (below server/) where it may stand
CALLS = [
    (r"v?sprintf|strcpy|strcat|strncpy|strncat|stpcpy|strtok|strtok_r|gets", "writes without a bound or hides a cut; use buf or snprintf", []),
    (r"atoi|atol|atoll|atof", "takes every mistake for 0; use span_parse_*", []),
    (r"alloca|strdupa", "takes the stack; use an arena or buf", []),
    (r"malloc|calloc|realloc|reallocarray|free|strdup|strndup|v?asprintf|aligned_alloc|posix_memalign|getline|getdelim",
        "use mem_* of base/alloc.h", ["base/alloc.c", "tools/*"]),
    (r"exit|quick_exit", "only main ends the process", ["main.c", "app/main.c", "cli/*_main.c", "tools/*"]),
    (r"sleep|usleep|nanosleep|clock_nanosleep", "wait for what you wait for", []),
    (r"time|gettimeofday|clock_gettime|ftime", "the clock comes from base/clock.h", ["base/clock.c", "base/log.c"]),
    (r"system|popen|tmpnam|mktemp", "neither shells nor races", []),
]
TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\s*\(?#\d+)")


def check_calls(name, code):
    for names, reason, allowed in CALLS:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed):
            continue
        # not members (x.free(…), x->free(…)), not declarations of a pointer (*free)(…)
        for found in re.finditer(rf"(?<![\w.])(?<!->)({names})\s*\(", code):
            yield found.start(), f"{found.group(1)}: {reason}"


def _close(code, start):
    """The offset behind the brace that closes the one at start."""
    depth = 0
    for offset in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[offset], 0)
        if depth == 0:
            return offset + 1
    return len(code)


def _is_type_brace(before):
    return re.search(r"\b(struct|union|enum)\b\s*(\w+\s*)?$", before) is not None


def _declaration(code, start):
    """The declaration that begins at start, as (text without initialisers, with {} for the members of a type; its end)."""
    text, offset = "", start
    while offset < len(code):
        c = code[offset]
        if c == "{":
            if not _is_type_brace(text):
                return text, offset # a function's body or an initialiser
            offset = _close(code, offset)
            text += "{}"
            continue
        if c in ";=":
            return text, offset
        text += c
        offset += 1
    return text, offset


def _is_mutable_object(text):
    """A declaration that makes something which can be written to, and that is not called state."""
    text = re.sub(r"\b(__attribute__|_Alignas|__typeof__)\s*\(\(?[^()]*(\([^()]*\)[^()]*)*\)?\)", " ", text)
    text = re.sub(r"\[[^\]]*\]", "", text).strip()
    is_pointer_to_function = re.match(r"[^(]*\(\s*\*", text) is not None # not so when only a parameter is one
    if "(" in text and not is_pointer_to_function:
        return False
    if re.fullmatch(r"(static\s+|_Thread_local\s+)*(struct|union|enum)\s*\w*\s*(\{\})?", text):
        return False # declares a type only
    target = text.rpartition("*")[2] if "*" in text else text
    if is_pointer_to_function:
        target = target.partition(")")[0]
    return not re.search(r"\bconst\b", target) and not re.search(r"(\b|_)state$", target.strip())


def check_statics(code):
    for found in re.finditer(r"(?<![\w])static\b(?!\s*inline\b)", code):
        text, _ = _declaration(code, found.start())
        if _is_mutable_object(text):
            yield found.start(), f"'{' '.join(text.split())}' can change: one `static struct {{ … }} state` a file, or none"


def file_scope(code):
    """(offset, declaration) of everything at file scope that is no function and no preprocessor line."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), code, flags=re.MULTILINE)
    # a macro that stands alone on its line, as AUTO_TYPE(x), ends there
    code = re.sub(r"^[A-Z_]+\([^()\n]*\)$", lambda m: m.group(0)[:-1] + ";", code, flags=re.MULTILINE)
    offset = 0
    while True:
        while offset < len(code) and (code[offset].isspace() or code[offset] in ";}"):
            offset += 1
        if offset >= len(code):
            return
        start = offset
        text, offset = _declaration(code, start)
        yield start, text
        if offset < len(code) and code[offset] == "{":
            offset = _close(code, offset)
        while offset < len(code) and code[offset] not in ";}" and code[offset - 1] != "}":
            offset = _close(code, offset) if code[offset] == "{" else offset + 1


def check_globals(code):
    for start, text in file_scope(code):
        words = text.split()
        if not words or words[0] in ("static", "typedef", "extern", "_Static_assert") or not re.match(r"[A-Za-z_]", text):
            continue
        if words[0].endswith("_handler"): # a declaration of functions by their type
            continue
        if _is_mutable_object(text) and len(words) > 1:
            yield start, f"'{' '.join(words)}' is a global that can change"


def check_text(name, text):
    """Faults of one C file as (offset, message); name is its path below server/."""
    code = bare_code(text)
    yield from check_calls(name, code)
    if not name.startswith("tools/"):
        yield from check_statics(code)
        if name.endswith(".c"):
            yield from check_globals(code)


def check(root):
    """(faults, number of files)"""
    root = pathlib.Path(root)
    faults, count = [], 0
    for path in find_files(root / "server", ".c", ".h"):
        text = path.read_text()
        count += 1
        name = path.relative_to(root / "server").as_posix()
        for offset, message in check_text(name, text):
            faults.append(f"server/{name}:{line_of(text, offset)}: {message}")
    for folder in ("server", "tests", "web", "deploy", "migrations"):
        for path in find_files(root / folder, ".c", ".h", ".py", ".ts", ".tsx", ".sql", ".css", ".html", ""):
            if path.parent == root / "tests/checks":
                continue # these speak of it
            text = path.read_text(errors="replace")
            for found in TODO.finditer(text):
                faults.append(f"{path.relative_to(root)}:{line_of(text, found.start())}: {found.group(1)} without an issue number, as TODO(#12)")
    return faults, count


if __name__ == "__main__":
    finish("banned", *check(sys.argv[1] if len(sys.argv) > 1 else ROOT))
