"""The bench reads its programs' figures by what the tests share: whatever is renamed there must not leave it dead until somebody measures."""

import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"


def test_the_bench_and_all_its_rows_start():
    told = subprocess.run([sys.executable, str(BENCH / "run"), "--help"], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "page-charts" in told.stdout
