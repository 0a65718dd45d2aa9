"""sm-ship and a disk of --spool that is small: its last 16 MiB are left to others, and what is in the spool is never lost to a disk that is full."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from diskroom import Watch, free
from prometheus import free_port
from smserver import wait_until

MIB = 1 << 20
LEFT_BYTES = 16 * MIB


@pytest.fixture
def spool_disk(ship):
    """spool_disk(MiB): --spool on a disk of that size."""
    mounted = []

    def mount(mib):
        ship.spool.mkdir(exist_ok=True)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "none", str(ship.spool)],
                stderr=subprocess.DEVNULL, check=False).returncode:
            pytest.skip("only root can mount a small disk")
        mounted.append(ship.spool)
        return ship.spool

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def line(i):
    return f"line {i:07d} {'x' * 400}"


def dropped(result):
    found = re.search(rb"(\d+) lines \(\d+ bytes\) were dropped because the disk of the spool was full", result.stderr)
    return int(found[1]) if found else 0


def check_rest(server, job, count, lost):
    """The oldest lines and, in their place, how many are lost."""
    stored = server.get(f"/api/v1/jobs/{job}/logs/raw").raw.decode().splitlines()
    kept = [one for one in stored if one.startswith("line ")]
    told = [int(re.match(r"smfleet: (\d+) lines?", one)[1]) for one in stored if one.startswith("smfleet: ")]
    assert len(kept) + sum(told) == count and sum(told) == lost, (len(kept), told, count, lost)
    return kept


def test_the_last_of_the_disk_is_left_to_others_by_lines_that_come_fast(server, ship, spool_disk):
    gone, count = f"http://127.0.0.1:{free_port()}", 150_000
    watch = Watch(spool_disk(40))
    data = "".join(line(i) + "\n" for i in range(count)).encode()
    result = ship.run("--job", "fast", "--server", gone, "--drain-timeout", "100ms", data=data)
    least = watch.end()
    assert result.returncode == 3 and result.stdout == data, result.stderr[-1000:]
    assert least >= LEFT_BYTES - MIB, least
    lost = dropped(result)
    assert lost > 0 and f"{count - lost + 1} lines of job 'fast'".encode() in result.stderr, result.stderr
    send_rest(server, ship, gone)
    kept = check_rest(server, "fast", count, lost)
    assert kept == [line(i) for i in range(count - lost)]


def send_rest(server, ship, gone):
    note = next(ship.spool.glob("*.rest"))
    note.write_text(note.read_text().replace(gone, server.url))  # its port may be another's by now
    sent = ship.run("--send-rest")
    left = [path for path in ship.spool.iterdir() if path.suffix != ".ledger"]  # one by the other address
    assert sent.returncode == 0 and left == [], sent.stderr


PRINT_ALL = """
import os, sys
text = "".join(f"line {i:07d} {'x' * 400}\\n" for i in range(%d)).encode()
while text:
    try:
        text = text[os.write(1, text):]
    except OSError:
        break
%s
"""


def test_a_command_that_fills_the_disk_at_once_keeps_its_oldest_lines(server, ship, spool_disk):
    gone = f"http://127.0.0.1:{free_port()}"
    folder = spool_disk(40)
    wait = f"import time\nwhile os.statvfs({str(folder)!r}).f_bavail * 4096 < {LEFT_BYTES - MIB}: time.sleep(0.01)"
    result = ship.run("--job", "burst", "--server", gone, "--drain-timeout", "100ms", "--", sys.executable, "-c", PRINT_ALL % (150_000, wait))
    assert result.returncode == 0, result.stderr[-1000:]
    printed = result.stdout.count(b"\n")
    lost = dropped(result)
    assert free(folder) >= LEFT_BYTES - MIB and printed > 30_000 and 0 < lost < printed
    send_rest(server, ship, gone)
    stored = server.get("/api/v1/jobs/burst/logs/raw").raw.decode().splitlines()
    kept = [one for one in stored if one.startswith("line ")]
    assert len(kept) >= 40_000 and kept == [line(i) for i in range(len(kept))]


def fill(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    for size in (1 << 16, 1):
        try:
            while os.write(fd, bytes(size)):
                pass
        except OSError:
            pass
    os.close(fd)


@pytest.mark.parametrize("way", ["pipe", "command"])
def test_what_is_in_the_spool_outlives_a_disk_that_is_full(server, ship, spool_disk, tmp_path, way):
    """Others fill it: at the end there is room for nothing."""
    gone, count = f"http://127.0.0.1:{free_port()}", 20_000
    folder, passed = spool_disk(40), tmp_path / "passed"
    command = ["--", sys.executable, "-c", PRINT_ALL % (count, "sys.stdin.read()")] if way == "command" else []
    with open(passed, "wb") as out:
        process = subprocess.Popen([ship.program, "--job", "kept", "--server", gone, "--drain-timeout", "100ms", *command],
                                   stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, env=ship.env)
    if way == "pipe":
        process.stdin.write("".join(line(i) + "\n" for i in range(count)).encode())
        process.stdin.flush()
    length = len(line(0)) + 1
    wait_until(lambda: passed.stat().st_size == count * length, what="its lines")
    fill(folder / "others")
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == (0 if way == "command" else 3), stderr
    lost = dropped(subprocess.CompletedProcess([], 0, b"", stderr))  # of a command's last lines, those that were not read before the disk was full
    assert free(folder) <= 2 * MIB and (lost == 0 or way == "command") and lost < count / 20, stderr
    assert f"{count - lost + (lost > 0)} lines of job 'kept'".encode() in stderr, stderr
    (folder / "others").unlink()
    send_rest(server, ship, gone)
    assert check_rest(server, "kept", count, lost) == [line(i) for i in range(count - lost)]
    if way == "command":
        assert server.get("/api/v1/jobs/kept").body["TrainingJobStatus"] == "Completed"


def test_a_last_note_that_cannot_be_written_costs_no_line(server, ship, tmp_path):
    """Then the first one stands, as after a kill."""
    gone, count, passed = f"http://127.0.0.1:{free_port()}", 1000, tmp_path / "passed"
    with open(passed, "wb") as out:
        process = subprocess.Popen([ship.program, "--job", "noted", "--server", gone, "--drain-timeout", "100ms", "--", sys.executable, "-c", PRINT_ALL % (count, "sys.stdin.read()")],
                                   stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, env=ship.env)
    wait_until(lambda: passed.stat().st_size == count * (len(line(0)) + 1), what="its lines")
    note = next(ship.spool.glob("*.rest"))
    aside = tmp_path / "note"
    note.rename(aside)
    (note / "in the way").mkdir(parents=True)
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 0 and f"cannot write '{note}'".encode() in stderr and b"1000 lines of job 'noted'" in stderr, stderr
    (note / "in the way").rmdir()
    note.rmdir()
    aside.rename(note)
    send_rest(server, ship, gone)
    assert check_rest(server, "noted", count, 0) == [line(i) for i in range(count)]


def test_lines_that_wait_in_memory_are_kept_where_there_is_room(server, ship, spool_disk):
    gone, count = f"http://127.0.0.1:{free_port()}", 5_000
    spool_disk(1)
    data = "".join(line(i) + "\n" for i in range(count)).encode()
    result = ship.run("--job", "memory", "--server", gone, "--drain-timeout", "100ms", data=data)
    assert b"lines wait in memory instead" in result.stderr and b"5000 lines of job 'memory'" in result.stderr, result.stderr
    notes = [path for path in pathlib.Path("/tmp").glob("sm-ship-*.rest") if gone in path.read_text()]
    try:
        note, = notes
        note.write_text(note.read_text().replace(gone, server.url))
        assert b"are kept in '/tmp'" in result.stderr
        assert b"5000 lines of job 'memory' that were left are with the server" in ship.run("--spool", "/tmp", "--send-rest").stderr
        assert check_rest(server, "memory", count, 0) == [line(i) for i in range(count)]
        assert not note.exists() and not note.with_suffix(".left").exists()
    finally:
        for note in notes:
            note.unlink(missing_ok=True)
            note.with_suffix(".left").unlink(missing_ok=True)


LAST_WORDS = """
import os, sys
print("begin", flush=True)
checkpoint = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
try:
    while os.statvfs(sys.argv[1]).f_bavail * 4096 > int(sys.argv[2]):
        os.write(checkpoint, bytes(4096))
except OSError as error:
    print(error)
for i in range(500):
    print("last words", i, "x" * 200, flush=True)
print("OSError: no checkpoint", file=sys.stderr, flush=True)
sys.exit(1)
"""


@pytest.mark.parametrize("left_bytes", [0, MIB, 12 * MIB])
@pytest.mark.parametrize("is_away", [False, True])
def test_a_command_that_fills_the_disk_itself_says_why_it_failed(server, ship, spool_disk, left_bytes, is_away):
    """Its checkpoint takes what is left to others; what it prints then is on the disk already, or has room there that nobody else could take."""
    folder, gone = spool_disk(40), f"http://127.0.0.1:{free_port()}"
    away = ["--server", gone, "--drain-timeout", "100ms"] if is_away else []
    result = ship.run("--job", "words", *away, "--", sys.executable, "-c", LAST_WORDS, str(folder / "checkpoint"), str(left_bytes))
    printed = [*result.stdout.decode().splitlines(), "OSError: no checkpoint"]
    assert result.returncode == 1 and b"OSError: no checkpoint" in result.stderr and b"dropped" not in result.stderr and b"cannot write" not in result.stderr, result.stderr
    assert len(printed) == 502
    if is_away:
        (folder / "checkpoint").unlink()
        send_rest(server, ship, gone)
    stored = server.get("/api/v1/jobs/words/logs/raw").raw.decode().splitlines()
    assert sorted(stored) == sorted(printed) and [one for one in stored if one != printed[-1]] == printed[:-1]
    assert server.get("/api/v1/jobs/words").body["TrainingJobStatus"] == "Failed"


def test_a_disk_that_others_keep_full_costs_no_line_while_the_server_takes_them(server, ship, spool_disk):
    """More than may stay on it at once."""
    folder, count = spool_disk(40), 20_000
    script = f"""
import os, time
os.posix_fallocate(os.open({str(folder / "others")!r}, os.O_WRONLY | os.O_CREAT), 0, 30 << 20)
for i in range({count}):
    print(f"line {{i:07d}} {{'x' * 400}}", flush=i % 100 == 0)
    if i % 100 == 0:
        time.sleep(0.02)
"""
    result = ship.run("--job", "flows", "--", sys.executable, "-c", script)
    assert result.returncode == 0 and b"dropped" not in result.stderr, result.stderr[-1000:]
    assert check_rest(server, "flows", count, 0) == [line(i) for i in range(count)]


def test_what_a_killed_one_had_dropped_is_told_and_is_part_of_no_line(server, ship, spool_disk):
    """Its holes are no NULs, and what was printed around them is there in whole lines."""
    gone, folder = f"http://127.0.0.1:{free_port()}", spool_disk(40)
    process = subprocess.Popen([ship.program, "--job", "holes", "--server", gone, "--", sys.executable, "-c", PRINT_ALL % (150_000, "sys.stdin.read()")],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ship.env)
    wait_until(lambda: any(text.stat().st_size > 30 * MIB for text in folder.glob("*.out")) and free(folder) >= LEFT_BYTES - MIB, what="what is dropped")
    text = next(folder.glob("*.out"))
    child = int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    process.kill()
    process.wait()
    process.stdin.close()
    wait_until(lambda: not pathlib.Path(f"/proc/{child}").exists(), what="the end of the command")
    printed = text.stat().st_size
    send_rest(server, ship, gone)
    stored = server.get("/api/v1/jobs/holes/logs/raw").raw
    assert b"\0" not in stored
    lost = [int(re.fullmatch(r"smfleet: (\d+) bytes were lost because there was no room for them", one)[1]) for one in stored.decode().splitlines() if one.startswith("smfleet: ")]
    kept = [one for one in stored.decode().splitlines() if not one.startswith("smfleet: ")]
    whole = {line(i) for i in range(150_000)}
    is_cut = kept[-1] not in whole  # by the disk, within the last write; else that was dropped, too
    assert lost and kept[:40_000] == [line(i) for i in range(40_000)] and set(kept[:-1]) <= whole and len(set(kept)) == len(kept)
    assert not is_cut or any(one.startswith(kept[-1]) for one in whole), kept[-1]
    assert sum(len(one) + 1 for one in kept) - is_cut + sum(lost) == printed


def test_an_end_that_cannot_be_noted_leaves_the_first_note_and_its_files(server, ship, tmp_path):
    """All lines are with the server, which is gone then."""
    process = ship.start("--job", "told", "--drain-timeout", "100ms", "--", sys.executable, "-c", PRINT_ALL % (10, "sys.stdin.read()"))
    wait_until(lambda: server.get("/api/v1/jobs/told/streams").status == 200 and check_is_there(server, "told", 10), what="its lines")
    server.kill()
    note = next(ship.spool.glob("*.rest"))
    aside = tmp_path / "note"
    note.rename(aside)
    (note / "in the way").mkdir(parents=True)
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 0 and f"cannot write '{note}'".encode() in stderr, stderr
    (note / "in the way").rmdir()
    note.rmdir()
    aside.rename(note)
    server.start(f"127.0.0.1:{server.port}")
    send_rest(server, ship, server.url)
    assert check_rest(server, "told", 10, 0) == [line(i) for i in range(10)]


def check_is_there(server, job, count):
    return server.get(f"/api/v1/jobs/{job}/logs/raw").raw.count(b"\n") == count


def test_lines_that_nowhere_has_room_for_are_counted(ship):
    """They waited in memory, and /tmp is full, too."""
    alone, gone, count = ["unshare", "--mount", "--user", "--map-root-user"], f"http://127.0.0.1:{free_port()}", 5_000
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here: no disk of a size can be made")
    data = "".join(line(i) + "\n" for i in range(count)).encode()
    mount = "mount -t tmpfs -o size=1m tmpfs /mnt && mount -t tmpfs -o size=64k tmpfs /tmp && exec \"$0\" \"$@\""
    result = subprocess.run([*alone, "sh", "-c", mount, ship.program, "--job", "lost", "--server", gone, "--spool", "/mnt", "--drain-timeout", "100ms"],
                            input=data, capture_output=True, timeout=60, env=ship.env, check=False)
    assert result.returncode == 3 and result.stdout == data, result.stderr
    assert b"5000 lines could not be kept and are lost" in result.stderr and b"how it ended are kept" not in result.stderr, result.stderr
