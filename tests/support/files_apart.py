#!/usr/bin/python3
"""files_apart.py LANES LOGS FOLDER BUILD:FILE…: runs files of tests, LANES at a time, each in a process and a folder of its own, on the
programs of build/BUILD.

Each is forked from this process, which has loaded what nearly all of them need: that costs half a second of a processor a file. Each
file's output goes into LOGS/integration-NAME.log; those that failed are named in LOGS/integration-failed, as they were given;
LOGS/integration-times has of each its seconds, and those of processors in it and in the processes that it waited for (PostgreSQL's,
which are nobody's children, not).
"""

import importlib
import os
import pathlib
import shutil
import sys
import tempfile
import time

import boto3  # noqa: F401 (loaded for the tests)
import botocore.session  # noqa: F401
import fixtures  # noqa: F401
import pytest
from _pytest.config import default_plugins

ROOT = pathlib.Path(__file__).resolve().parents[2]

for plugin in default_plugins:
    importlib.import_module(f"_pytest.{plugin}")


def run(build, file, log, folder):
    """Never returns. Its folder goes with it, before it counts as memory that others need."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.environ["SM_BUILD_DIR"] = str(ROOT / "build" / build)
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--durations=4", f"--basetemp={folder}/t", file]))


def main(lanes, logs, parent, *files):
    waiting, running, status = list(files), {}, 0
    while waiting or running:
        while waiting and len(running) < int(lanes):
            name = waiting.pop(0)
            build, _, file = name.partition(":")
            folder = tempfile.mkdtemp(dir=parent)
            os.chmod(folder, 0o711)  # PostgreSQL runs as a user of its own
            child = os.fork()
            if child == 0:
                run(build, file, f"{logs}/integration-{pathlib.Path(file).name}.log", folder)
            running[child] = name, folder, time.monotonic()
        child, code, usage = os.wait4(-1, 0)
        name, folder, began_s = running.pop(child)
        shutil.rmtree(folder, ignore_errors=True)
        with open(f"{logs}/integration-times", "a") as times:
            print(f"{time.monotonic() - began_s:.3f} {usage.ru_utime:.3f} {usage.ru_stime:.3f} {name}", file=times)
        if code != 0:
            status = 1
            with open(f"{logs}/integration-failed", "a") as failed:
                print(name, file=failed)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
