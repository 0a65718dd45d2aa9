"""Where the database lies: a network's file system is refused by name, a container's layers (overlayfs) serve like a disk."""

import hashlib
import os
import subprocess

import pytest

from engine import of_a_file
from faults import FaultyServer
from smserver import Server, find_binary, sanitizer_environment, wait_until

pytestmark = of_a_file("and where it lies")

SEALING = ("--seal-age", "100ms", "--seal-bytes", "64KiB")


def run(program, *words, environment=None):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120, check=False, env=sanitizer_environment({"PATH": "/usr/bin:/bin", **(environment or {})}))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("number,name", [(0x6969, "NFS"), (0xfe534d42, "SMB"), (0x0bd00bd0, "Lustre"), (0x01021997, "9P")])
def test_a_network_is_refused_by_name(tmp_path, number, name):
    """What the kernel says a file lies on is stated by the test: no network is needed (tests/support/faults.c)."""
    server = FaultyServer(tmp_path / "far")
    server.disk.set(file_system=number)
    server.launch()
    assert server.wait() == 1
    server.process = None
    said = server.log_text()
    assert f"'{server.database}' is on a network file system ({name})" in said and "put it on a local disk" in said, said
    code, said = run(server.bin("sm-server"), "doctor", "--db", str(server.database), environment=server.environment)
    assert name in said, (code, said)
    server.disk.set(file_system=0)
    server.start()
    server.send("j", "a line")
    server.close()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(params=["of one disk", "of two"])
def layers(tmp_path, request):
    """(lower, merged). Of two: what is written goes into memory, and a file has the number of neither."""
    lower, upper, merged = tmp_path / "lower", tmp_path / "upper", tmp_path / "merged"
    for folder in (lower, upper, merged):
        folder.mkdir()
    mounted = []

    def mount(*words):
        if os.geteuid() != 0 or subprocess.run(["mount", *words], stderr=subprocess.DEVNULL, check=False).returncode:
            pytest.skip("only root can mount")
        mounted.append(words[-1])

    try:
        if request.param == "of two":
            mount("-t", "tmpfs", "none", str(upper))
        for folder in ("files", "work"):
            (upper / folder).mkdir()
        yield lower, merged, lambda: mount("-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper}/files,workdir={upper}/work", "none", str(merged))
    finally:
        for folder in reversed(mounted):
            subprocess.run(["umount", "-l", folder], check=True)


def test_a_containers_layers_serve_like_a_disk(layers):
    """A database that an image brought along: its file is copied up when the server opens it, and is the same to it before and behind that."""
    lower, merged, mount = layers
    first = Server(lower, *SEALING).start()
    want = [f"step: {n} loss: 1.5" for n in range(200)]
    first.send("j", want)
    first.stop()
    was = digest(first.database)
    mount()
    server = Server(merged, *SEALING)
    try:
        server.start()
        for part in range(3):
            more = [f"step: {n} loss: 1.5" for n in range(len(want), len(want) + 2000)]
            server.send("j", more)
            want += more
            wait_until(lambda: server.sql("SELECT sum(line_count) FROM blocks") == [(len(want),)], what="all lines to be sealed")
            assert [line["text"] for line in server.lines("j")] == want
            server.kill() if part < 2 else server.stop()
            server.start()
        server.wait_for_points("j", "train:loss", len(want))
        assert "event=database_lost" not in server.log_text() and server.get("/readyz").status == 200
        copy = merged / "copy.db"
        assert run(find_binary("sm-server"), "backup", str(copy), "--db", str(server.database))[0] == 0
        other = Server(merged, *SEALING)
        other.launch()
        assert other.wait() == 1 and "is in use by another server" in other.log_text()
        other.process = None
        other.close()
        server.stop()
        for database in (server.database, copy):
            code, said = run(find_binary("sm-server"), "check", "--db", str(database))
            assert code == 0 and ": 0 problems" in said, said
        assert digest(first.database) == was, "the image is as it was"
    finally:
        server.close()
