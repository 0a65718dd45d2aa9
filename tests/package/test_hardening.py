"""What the release build's programs are made with, as readelf says: a table like checksec's, and no row of it may be weaker than it says."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SM_RELEASE_DIR", ROOT / "build/release"))
PROGRAMS = ["sm-server", "sm-ship", "sm-search", "sm-ship-x86_64", "sm-search-x86_64"]


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def look(path):
    """Of one program: what each protection is."""
    head, dynamic, segments = said("readelf", "-hW", path), said("readelf", "-dW", path), said("readelf", "-lW", path)
    symbols = said("readelf", "-sW", "--dyn-syms", path)
    stack = re.search(r"GNU_STACK\s.*?(R\S*)\s+0x", segments).group(1)
    code = said("objdump", "-d", "--no-show-raw-insn", "--section=.text", path)
    relro = "GNU_RELRO" in segments and ("full" if "BIND_NOW" in dynamic or "NOW" in dynamic else "partial")
    return {"PIE": "DYN" in re.search(r"Type:\s+(\S+)", head).group(1), "RELRO": relro or "none", "NX": "E" not in stack,
        "canary": "__stack_chk_fail" in symbols or "%fs:0x28" in code, "fortified": len(set(re.findall(r"\b__\w+_chk\b", symbols)) - {"__stack_chk_fail"}),
        "CET": code.count("endbr64"), "RPATH": "RPATH" in dynamic or "RUNPATH" in dynamic, "W+X": bool(re.search(r"\bRWE\b", segments))}


@pytest.fixture(scope="module")
def table():
    there = {name: BUILD / name for name in PROGRAMS if (BUILD / name).exists()}
    if "sm-server" not in there:
        pytest.skip("there is no release build: run `tests/run deb`")
    found = {name: look(path) for name, path in there.items()}
    columns = list(next(iter(found.values())))
    print("\n" + " ".join(f"{word:>16}" for word in ["", *columns]))
    for name, row in found.items():
        print(" ".join(f"{str(word):>16}" for word in [name, *row.values()]))
    return found


def test_each_program_is_hardened(table):
    for name, row in table.items():
        is_static = name.endswith("_64")  # stripped, without a loader: no dynamic symbols name what glibc checks
        assert row["PIE"] and row["NX"] and not row["RPATH"] and not row["W+X"] and row["canary"], (name, row)
        assert row["RELRO"] == "full" or is_static and row["RELRO"] == "partial", (name, row)
        assert row["CET"] > 100 and (is_static or row["fortified"] >= 3), (name, row)


def test_the_build_asks_for_the_highest_level(table):
    """Level 3 checks sizes that are known at run time only."""
    levels = set(re.findall(r"-D_FORTIFY_SOURCE=(\d)", (BUILD / "build.ninja").read_text()))
    assert levels == {"3"}
