"""What tests/hostile says of itself: a fault of the server's own is no kill of its room, and nothing is left out in silence."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from engine import of_a_file
from faults import FaultyServer

HOSTILE = pathlib.Path(__file__).resolve().parents[1] / "hostile"
sys.path.append(str(HOSTILE))

import attack  # noqa: E402
import ends  # noqa: E402
import full  # noqa: E402

pytestmark = of_a_file("its disk ends it")


def attacks(*words, before=(), is_long=""):
    done = subprocess.run([*before, sys.executable, HOSTILE / "run", *words], env={**os.environ, "SM_LONG": is_long}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    return done.returncode, done.stdout


@pytest.fixture(params=[ends.Kills, ends.PowerLosses])
def room(request, tmp_path, monkeypatch):
    # the end of a server that was sent SIGSEGV is no report of the sanitizer's
    monkeypatch.setenv("TSAN_OPTIONS", ":".join(filter(None, (os.environ.get("TSAN_OPTIONS"), "handle_segv=0"))))
    server = FaultyServer(tmp_path / "faulty").start()
    room = request.param(attack.Fight(server, 1, 1))
    room.measure(lambda: server.send("j", "a line"))
    yield room
    server.close()


def test_an_end_that_was_armed_counts(room):
    def begin():
        while True:
            room.fight.server.send("j", "a line")

    assert not room.during(begin, lambda: False)
    assert sum(count for name, count in room.at.items() if name) == 1


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_crash_of_the_servers_own_is_no_kill(room, number):
    room.most = dict.fromkeys(room.most, 10**9)  # none of the disk's doing: a server that dies slowly goes on writing meanwhile
    with pytest.raises(AssertionError, match=r"(?s)ended by itself, with -?\d+:\n.*event=listening"):
        room.during(lambda: room.fight.server.signal(number), lambda: False)
    room.fight.server.process = None
    assert not room.at


def test_a_name_that_no_attack_has_is_refused():
    code, said = attacks("--seconds", "1", "framing", "no such attack")
    assert code == 2 and "no attack has 'no such attack' in its name" in said, said


def test_what_cannot_be_mounted_is_left_out_and_counted():
    """Where it is root of a namespace that is not the mounts', so that mount refuses."""
    words, before = ("--seconds", "1", "full a small disk"), ("unshare", "--user", "--map-root-user")
    code, said = attacks(*words, before=before)
    assert code == 0 and said.endswith("\n0 passed, 0 failed, 1 left out\n"), said
    code, said = attacks(*words, before=before, is_long="1")
    assert code == 1 and said.endswith("\n0 passed, 1 failed, 0 left out\n"), said


def test_a_disk_that_never_has_room_ends_a_senders_patience(tmp_path, monkeypatch):
    monkeypatch.setattr(full, "PATIENCE_S", 0.2)
    server = full.SmallDisk(tmp_path)
    try:
        if not server.is_small:
            pytest.skip("only root can mount a small disk")
        server.start("127.0.0.1:0", *full.OPTIONS)
        server.fill(0)
        with pytest.raises(AssertionError, match="refused for"):
            server.send("j", [os.urandom(4000).hex() for _ in range(500)])
    finally:
        server.close()
