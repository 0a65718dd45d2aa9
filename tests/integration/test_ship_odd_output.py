"""Commands whose output is odd, and folders that are full: the training runs on, and what it said is there."""

import collections
import errno
import itertools
import subprocess
import sys

import pytest

from faults import DELETE, FILL, OPEN, OPERATION_NAMES, SYNC, TRUNCATE, WRITE, Disk
from howlong import long
from shipping import job, lines
from smserver import find_binary, wait_until


def test_a_command_that_closes_its_output_lives_on(server, ship, tmp_path):
    goal = tmp_path / "goal"
    script = f"echo one; exec >&- 2>&-; while [ ! -e {goal} ]; do sleep 0.05; done; exit 3"
    process = ship.start("--job", "closed", "--", "sh", "-c", script)
    assert process.stdout.readline() == b"one\n"
    wait_until(lambda: server.get("/api/v1/jobs/closed/streams").status == 200 and lines(server, "closed"), what="its line")
    assert process.poll() is None and job(server, "closed")["TrainingJobStatus"] == "InProgress"
    goal.touch()
    process.communicate(timeout=30)
    assert process.returncode == 3
    assert job(server, "closed")["FailureReason"] == "exit code 3"


def test_a_child_of_the_command_that_holds_its_output_keeps_nobody(server, ship, tmp_path):
    goal = tmp_path / "goal"
    script = f"(while [ ! -e {goal} ]; do sleep 0.05; done) & echo one"
    try:
        result = ship.run("--job", "daemon", "--", "sh", "-c", script)
        assert (result.returncode, result.stdout) == (0, b"one\n")
        assert job(server, "daemon")["TrainingJobStatus"] == "Completed" and lines(server, "daemon") == ["one"]
    finally:
        goal.touch()


def test_a_progress_bar_without_newlines(server, ship):
    script = "for i in range(2000): print(f'\\rstep {i} loss {1 / (i + 1):.6f}', end='')"
    result = ship.run("--job", "bar", "--metric", "loss=loss ([0-9.]+)", "--", sys.executable, "-c", script)
    assert result.returncode == 0 and result.stdout.count(b"\r") == 2000
    stored = "\r".join(lines(server, "bar")).encode()
    assert stored.count(b"step ") == 2000 and b"step 1999 loss 0.000500" in stored
    series, = [row for row in server.get("/api/v1/jobs/bar/metrics").body["series"] if row["metric"] == "loss"]
    assert series["count"] > 0


@long
def test_a_line_without_end_takes_no_memory(server, ship, tmp_path):
    size = 200 << 20
    log = tmp_path / "status"
    script = f"head -c {size} /dev/zero | tr '\\0' x"
    process = ship.start("--job", "endless", "--spool-bytes", "1GiB", "--", "sh", "-c", script)
    process.stdin.close()
    taken = 0
    while chunk := process.stdout.read(1 << 20):
        taken += len(chunk)
        text = open(f"/proc/{process.pid}/status").read()
        log.write_text(text if "VmHWM" in text else log.read_text())
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0 and taken == size, errors
    row, = server.get("/api/v1/jobs/endless/streams").body["streams"]
    assert row["bytes"] >= size and row["lines"] >= 1
    peak_kib = int(next(line for line in log.read_text().splitlines() if line.startswith("VmHWM")).split()[1])
    assert peak_kib < 200 << 10  # with the sanitizer's own
    assert job(server, "endless")["TrainingJobStatus"] == "Completed"


@pytest.fixture
def small_disk(ship):
    """small_disk(MiB, argument…): sm-ship with its spool on a disk of that size, which only it sees."""
    alone = ["unshare", "--mount", "--user", "--map-root-user"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here: no disk of a size can be made")
    ship.spool.mkdir()

    def run(mib, *args):
        mount = f"mount -t tmpfs -o size={mib}m tmpfs {ship.spool} && exec \"$0\" \"$@\""
        return subprocess.run([*alone, "sh", "-c", mount, ship.program, *args], capture_output=True, timeout=120, env=ship.env)

    return run


def test_a_spool_folder_that_is_full_costs_the_training_nothing(server, ship, small_disk):
    script = "for i in range(100000): print('line', i)"  # 1 MB and more
    result = small_disk(1, "--job", "full", "--", sys.executable, "-c", script)
    assert result.returncode == 0 and result.stdout.count(b"\n") == 100_000
    assert b"has only" in result.stderr and b"lines wait in memory instead" in result.stderr
    row, = server.get("/api/v1/jobs/full/streams").body["streams"]
    assert row["lines"] == 100_000


def test_a_spool_folder_that_fills_costs_lines_and_not_the_training(ship, small_disk):
    script = "import time\nfor i in range(240):\n    print('x' * (256 << 10 | 1))\n    time.sleep(0.005)"  # 60 MiB to a disk of 40
    result = small_disk(40, "--job", "filled", "--server", "http://127.0.0.1:1", "--drain-timeout", "100ms", "--", sys.executable, "-c", script)
    assert result.returncode == 0, result.stderr[-1000:]
    assert result.stdout.count(b"\n") == 240 and b"the disk of the spool is full" in result.stderr and b"dropped because the disk of the spool was full" in result.stderr
    dropped = int(result.stderr.partition(b" lines (")[0].rsplit(b" ", 1)[1])
    assert 100 <= dropped < 240, result.stderr


@pytest.mark.parametrize("way", ["command", "pipe"])
@pytest.mark.parametrize("cause", [errno.ENOSPC, pytest.param(errno.EIO, marks=long)], ids=["full", "broken"])
def test_each_write_of_a_spool_fails_once_and_no_line_is_lost_unsaid(server, ship, tmp_path, way, cause):
    """The training runs on and ends as it does; each line is there once, or sm-ship says how many are not, or that they wait."""
    disk, text = Disk(tmp_path / "faults"), [f"line {n}" for n in range(300)]
    data = "".join(f"{line}\n" for line in text)
    ship.program, ship.env["SM_FAULTS"] = find_binary("sm-ship-faults"), str(tmp_path / "faults")
    outcomes = collections.Counter()
    for operation in (WRITE, SYNC, TRUNCATE, OPEN, DELETE):
        for number in itertools.count(1):
            name = f"{OPERATION_NAMES[operation]}-{number}"
            disk.arm(number, (operation,), action=FILL, cause=cause, torn_bytes=number % 3)
            if way == "command":
                result = ship.run("--job", name, "--", sys.executable, "-c", f"print({data!r}, end='')")
                assert result.stdout.decode() == data, (name, result.stderr)
            else:
                result = ship.run("--job", name, data=data.encode())
            has_failed = disk.get("failed") > 0
            disk.mend()
            assert result.returncode == 0, (name, result.stderr)
            there = lines(server, name)
            said = b"No space left" in result.stderr or b"full" in result.stderr or b"Input/output error" in result.stderr or b"dropped" in result.stderr
            assert there == text or said and b"dropped" in result.stderr, (name, len(there), result.stderr)
            if not has_failed:
                break
            outcomes[OPERATION_NAMES[operation], "said" if said else "without a word", len(there) == len(text)] += 1
    print(outcomes)  # what failed, whether it was said, whether all lines are there
    assert sum(outcomes.values()) > 3
