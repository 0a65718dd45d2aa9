"""What a campaign of the fuzzer keeps (tests/fuzz/campaign), with a small target of its own."""

import hashlib
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest

from engine import of_a_file

pytestmark = of_a_file("no server")

CAMPAIGN = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "campaign"
TARGET = """
#include <stddef.h>
volatile int way;
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	if (size == 1 && data[0] == 'a') way = 1;
	if (size == 2 && data[0] == 'b' && data[1] == 'c') way = 2;
	return 0;
}
"""


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    loader = importlib.machinery.SourceFileLoader("campaign", str(CAMPAIGN))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("campaign", loader))
    loader.exec_module(module)
    module.ROOT, module.WORK, module.PROGRAMS = tmp_path, tmp_path / "work", tmp_path
    (module.WORK / "small_fuzz").mkdir(parents=True)
    return module


@pytest.fixture
def target(campaign):
    """Its campaigns have found four inputs, two of which add nothing."""
    if not shutil.which("clang"):
        pytest.skip("clang is not here")
    (campaign.ROOT / "small.c").write_text(TARGET)
    subprocess.run(["clang", "-g", "-fsanitize=fuzzer", "small.c", "-o", "small_fuzz"], cwd=campaign.ROOT, check=True)
    for data in (b"a", b"bc", b"xyz", b"xyzxyz"):
        (campaign.WORK / "small_fuzz" / hashlib.sha1(data).hexdigest()).write_bytes(data)
    return "small_fuzz"


def inputs(folder):
    return sorted(path.read_bytes() for path in folder.iterdir())


def test_what_adds_nothing_goes(campaign, target):
    campaign.minimise(target)
    assert inputs(campaign.WORK / target) == [b"a", b"bc"]
    assert [path.name for path in campaign.WORK.iterdir()] == [target]


@pytest.mark.parametrize("step", ["copy", "rename", "unlink", "rmtree"])
def test_what_was_found_outlives_an_end_in_the_middle(campaign, target, monkeypatch, step):
    def end(*arguments, **options):
        if not options.get("ignore_errors"):
            raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr(*((shutil, step) if step in ("copy", "rmtree") else (pathlib.Path, step)), end)
        try:
            campaign.minimise(target)
        except KeyboardInterrupt:
            pass
    assert {b"a", b"bc"} <= set(inputs(campaign.WORK / target))


def test_a_target_without_a_corpus_gets_one(campaign, target):
    assert campaign.keep(target) == 2
    assert inputs(campaign.ROOT / "tests/fuzz/corpus" / target) == [b"a", b"bc"]
    assert campaign.keep(target) == 0


@pytest.mark.parametrize("hours,slices", [(0.001, [3]), (0, [1]), (1, [180] * 20)])
def test_a_campaign_is_never_without_a_slice(campaign, monkeypatch, hours, slices):
    """The clock is the only one that waits."""
    now, had = [0.0], []

    def carry_out(_table, _target, seconds):
        had.append(seconds)
        now[0] += seconds
        return True

    class Table:
        @staticmethod
        def minutes(_target):
            return 0

    monkeypatch.setattr(campaign, "carry_out", carry_out)
    monkeypatch.setattr(campaign.time, "monotonic", lambda: now[0])
    assert campaign.go_on(Table, ["small_fuzz"], hours, 180) == set()
    assert had == slices


def test_a_name_that_no_target_has_is_refused():
    done = subprocess.run([sys.executable, CAMPAIGN, "no such target"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no target has 'no such target' in its name" in done.stderr
