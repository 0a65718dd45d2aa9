"""The static sm-ship and sm-search: one file each, that runs where there is nothing else."""

import os
import platform
import shutil
import subprocess

import pytest
from shipping import job, lines
from smserver import find_binary


@pytest.fixture
def empty_root(tmp_path):
    """Runs one of the programs in a folder that holds it and nothing else."""
    folder = tmp_path / "root"
    folder.mkdir()
    chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
    enter = [chroot] if os.geteuid() == 0 else [shutil.which("unshare"), "-r", chroot]

    class Root:
        path = folder

        def run(self, program, *args, data=b"", **env):
            name = f"{program}-{platform.machine()}"
            shutil.copy(find_binary(name), folder / name)
            return subprocess.run([*enter, str(folder), f"/{name}", *args], input=data, capture_output=True,
                                  timeout=60, env=env)

    return Root()


def test_it_is_one_file():
    for name in (f"sm-ship-{platform.machine()}", f"sm-search-{platform.machine()}"):
        found = subprocess.run(["readelf", "-ld", find_binary(name)], capture_output=True, text=True, check=True).stdout
        assert "INTERP" not in found and "NEEDED" not in found, found


def test_it_ships_from_an_empty_root_by_address(server, empty_root):
    done = empty_root.run("sm-ship", "--server", server.url, "--job", "empty", data=b"first\nsecond\n")
    assert done.returncode == 0 and done.stdout == b"first\nsecond\n", done
    assert lines(server, "empty") == ["first", "second"]
    assert job(server, "empty")["TrainingJobStatus"] == "Completed"
    found = empty_root.run("sm-search", "--server", server.url, "--ndjson", "empty")
    assert found.returncode == 0 and b'"TrainingJobName":"empty"' in found.stdout, found


def test_it_finds_a_host_in_etc_hosts(server, empty_root):
    (empty_root.path / "etc").mkdir()
    (empty_root.path / "etc/hosts").write_text("127.0.0.1 localhost\n")
    (empty_root.path / "etc/nsswitch.conf").write_text("hosts: nothing_of_the_kind\n")
    done = empty_root.run("sm-ship", "--server", f"http://localhost:{server.port}", "--job", "named", data=b"a line\n")
    assert done.returncode == 0, done
    assert lines(server, "named") == ["a line"]


def test_it_says_what_an_empty_root_lacks(empty_root):
    done = empty_root.run("sm-ship", "--server", "http://head-node.invalid:8080", "--drain-timeout", "1s", data=b"x\n")
    assert done.returncode == 3
    assert b"cannot find host 'head-node.invalid'" in done.stderr and b"/etc/resolv.conf" in done.stderr, done.stderr
    assert b"/etc/hosts" in done.stderr


def test_it_says_that_authorities_are_missing(server, empty_root):
    done = empty_root.run("sm-ship", "--server", f"https://127.0.0.1:{server.port}", "--drain-timeout", "1s", data=b"x\n")
    assert done.returncode in (3, 4) and b"--ca-file" in done.stderr, done
