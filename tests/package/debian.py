"""A bare Debian 12 in a folder, made by debootstrap once and copied for each test. Needs root and a Debian mirror."""

import os
import pathlib
import shlex
import shutil
import subprocess

import pytest

CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
# what packages leave behind by design
NOT_LOOKED_AT = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "etc/passwd", "etc/group", "etc/shadow", "etc/gshadow", "tmp",
    "etc/subuid", "etc/subgid", "run", "etc/ld.so.cache", "root", "proc", "sys", "dev")


def needs(name):
    if not os.environ.get(name):
        pytest.skip(f"{name} is not set: run `tests/run deb`")
    return pathlib.Path(os.environ[name]).resolve()


def run(*command, check=True, timeout=600, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False, **options)
    assert not check or done.returncode == 0, f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout[-3000:]}"
    return done.stdout


class Debian:
    """No init, as in a container's build; a name space of its own for processes, because scripts want /proc."""

    def __init__(self, folder):
        base = needs("SM_DEB_ROOT") / "bookworm"
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            pytest.skip("needs root and debootstrap")
        if not (base / ".complete").exists():
            shutil.rmtree(base, ignore_errors=True)
            mirror = os.environ.get("SM_DEBIAN_MIRROR", "http://deb.debian.org/debian")
            run("debootstrap", "--variant=minbase", "bookworm", str(base), mirror)
            (base / ".complete").touch()
        self.folder = folder
        run("cp", "-a", "--reflink=auto", str(base), str(folder))
        (folder / ".complete").unlink()
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        trusted = pathlib.Path("/usr/local/share/ca-certificates")  # a network whose proxy signs: installing ca-certificates takes these in
        if trusted.is_dir():
            shutil.copytree(trusted, folder / trusted.relative_to("/"), dirs_exist_ok=True)

    def command(self, *words, place="/"):
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.folder}/proc", "chroot", str(self.folder),
            "/usr/bin/env", f"--chdir={place}", *words]

    def run(self, *words, place="/", timeout=600, **environment):
        return run(*self.command(*words, place=place), timeout=timeout, env={**CLEAN, **environment})

    def path(self, name):
        return self.folder / name.lstrip("/")

    def files(self):
        found = set()
        for place, folders, names in os.walk(self.folder):
            below = os.path.relpath(place, self.folder)
            folders[:] = [name for name in folders if os.path.normpath(f"{below}/{name}") not in NOT_LOOKED_AT]
            found |= {os.path.normpath(f"{below}/{name}") for name in (*names, *folders)}
        return {name for name in found if not name.startswith(NOT_LOOKED_AT)}

    def remove(self):
        shutil.rmtree(self.folder)
