"""The .deb in a bare Debian 12: installed, started as its unit says, upgraded over a live database, removed, purged.

`tests/run deb` builds both packages and says where they are: SM_DEB, SM_DEB_OLD (the same program with an older version
number), SM_DEB_ROOT (a folder that keeps the bare Debian).
"""

import configparser
import http.client
import json
import re
import shlex
import shutil
import signal
import subprocess
import threading

import pytest

from debian import CLEAN, Debian, needs, run
from smserver import wait_until


@pytest.fixture
def debian(tmp_path):
    debian = Debian(tmp_path / "root")
    for deb, name in ((needs("SM_DEB_OLD"), "old.deb"), (needs("SM_DEB"), "new.deb")):
        shutil.copy(deb, debian.path("tmp") / name)
    debian.run("apt-get", "-qq", "update")
    # what it depends on, beforehand: what a purge leaves behind is then the package's own doing
    depends = re.sub(r"\([^)]*\)|\|[^,]*", "", run("dpkg-deb", "-f", str(debian.path("/tmp/new.deb")), "Depends"))
    debian.run("apt-get", "-qq", "-y", "install", "--no-install-recommends", *re.split(r"[\s,]+", depends.strip()))
    yield debian
    debian.remove()


class Service:
    """What systemd would do with the unit: its user, its folder, its command."""

    def __init__(self, debian):
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        unit.read_string(debian.path("/lib/systemd/system/smfleet.service").read_text())
        service = unit["Service"]
        state = debian.path(f"/var/lib/{service['StateDirectory']}")
        assert state.is_dir() and f"/var/lib/{service['StateDirectory']}" == service["WorkingDirectory"]
        self.process = subprocess.Popen(["chroot", str(debian.folder), "setpriv", f"--reuid={service['User']}",
            f"--regid={service['Group']}", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--",
            *shlex.split(service["ExecStart"])], env={**CLEAN, "SMFLEET_LISTEN": "127.0.0.1:0"}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.log, self.port = [], None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        wait_until(lambda: self.port or self.process.poll() is not None, what="the server to listen")
        assert self.port, "".join(self.log)

    def _read(self):
        for line in self.process.stdout:
            self.log.append(line)
            found = re.search(r"listening .*port=(\d+)", line)
            self.port = int(found.group(1)) if found else self.port

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {"Content-Type": "text/plain"} if body else {})
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        assert reply.status == 200, (reply.status, text)
        return json.loads(text) if "json" in reply.getheader("Content-Type") else text.decode()

    def send(self, *lines):
        assert self.ask("POST", "/api/v1/logs?job=gpt&stream=algo-1", "".join(f"{line}\n" for line in lines))["accepted"] == len(lines)

    def lines(self):
        return [line["text"] for line in self.ask("GET", "/api/v1/jobs/gpt/logs?stream=algo-1&limit=1000")["lines"]]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, "".join(self.log)
        self.reader.join(30)


def version(debian):
    return debian.run("dpkg-query", "--show", "--showformat", "${Version} ${db:Status-Status}", "smfleet")


def check_bill(bill, debian):
    """Each library that the installed server asks for is in it, in the version that is there; what is linked in has its licence's text beside it."""
    assert bill["spdxVersion"] == "SPDX-2.3" and {row["SPDXID"] for row in bill["packages"]} == {row["relatedSpdxElement"] for row in bill["relationships"]}
    parts = {row["name"]: row for row in bill["packages"]}
    how = {row["relatedSpdxElement"]: row["relationshipType"] for row in bill["relationships"]}
    for name in ("libmicrohttpd12", "libsqlite3-0", "libcurl4", "libc6"):
        assert parts[name]["versionInfo"] == debian.run("dpkg-query", "--show", "--showformat", "${Version}", name), name
        assert how[parts[name]["SPDXID"]] == "DYNAMIC_LINK"
    assert parts["libmicrohttpd12"]["licenseDeclared"] == "LGPL-2.1-or-later" and how[parts["libsqlite3-dev"]["SPDXID"]] == "STATIC_LINK"
    assert {"preact", "uplot"} <= set(parts) and "NOASSERTION" not in {row["licenseDeclared"] for row in bill["packages"]}
    notices = debian.path("/usr/share/smfleet/THIRD-PARTY").read_text()
    for name, row in parts.items():
        assert name == "smfleet" or f"  {name} {row['versionInfo']}: {row['licenseDeclared']}" in notices
        assert how[row["SPDXID"]] not in ("STATIC_LINK", "CONTAINS") or f"\n---- {name} ----\n" in notices, name


def test_installed_started_upgraded_removed_purged(debian):
    before = debian.files()
    new = run("dpkg-deb", "-f", str(debian.path("/tmp/new.deb")), "Version").strip()
    debian.run("apt-get", "-qq", "-y", "install", "--no-install-recommends", "/tmp/old.deb")
    assert version(debian) == "0.0.1 installed"

    # what is there
    for program in ("sm-server", "sm-ship", "sm-search"):
        assert "Usage" in debian.run(program, "--help") or "usage" in debian.run(program, "--help")
    assert "/var/lib/smfleet" in debian.run("getent", "passwd", "smfleet")
    assert debian.run("stat", "--format=%U:%G %a", "/var/lib/smfleet").strip() == "smfleet:smfleet 750"
    assert debian.path("/etc/systemd/system/multi-user.target.wants/smfleet.service").is_symlink(), "not enabled"
    assert "/etc/smfleet/sm-server.conf" in debian.run("dpkg-query", "--show", "--showformat", "${Conffiles}", "smfleet")
    assert debian.path("/usr/share/doc/smfleet/copyright").is_file()
    check_bill(json.loads(debian.path("/usr/share/smfleet/smfleet.spdx.json").read_text()), debian)
    assert debian.run("dpkg", "--verify", "smfleet") == ""
    # a live database, and settings that somebody changed
    service = Service(debian)
    service.send("step 1 loss=3.5", "step 2 loss=3.25")
    with debian.path("/etc/smfleet/sm-server.conf").open("a") as settings:
        settings.write("workers = 3\n")
    debian.run("dpkg", "-i", "/tmp/new.deb")
    assert version(debian) == f"{new} installed"
    service.send("step 3 loss=3.125")  # the old program, until it is told to stop
    service.stop()
    assert "workers = 3" in debian.path("/etc/smfleet/sm-server.conf").read_text()
    service = Service(debian)
    service.send("step 4 loss=3")
    assert service.lines() == ["step 1 loss=3.5", "step 2 loss=3.25", "step 3 loss=3.125", "step 4 loss=3"]
    service.stop()
    assert {path.stat().st_mode & 0o077 for path in debian.path("/var/lib/smfleet").iterdir() if path.suffix == ".key"} == {0}

    # remove keeps settings and data
    debian.run("apt-get", "-qq", "-y", "remove", "smfleet")
    assert not debian.path("/usr/bin/sm-server").exists() and not debian.path("/lib/systemd/system/smfleet.service").exists()
    assert debian.path("/etc/smfleet/sm-server.conf").exists() and debian.path("/var/lib/smfleet/smfleet.db").exists()
    debian.run("dpkg", "-i", "/tmp/new.deb")
    service = Service(debian)
    assert len(service.lines()) == 4
    service.stop()

    # purge keeps the data, and says so: a package that is installed again goes on with them
    said = debian.run("apt-get", "-qq", "-y", "purge", "smfleet")
    assert "the data stay in /var/lib/smfleet" in said
    assert not debian.path("/etc/smfleet").exists() and debian.path("/var/lib/smfleet/smfleet.db").exists()
    assert "smfleet" in debian.run("getent", "passwd")
    debian.run("dpkg", "-i", "/tmp/new.deb")
    service = Service(debian)
    assert len(service.lines()) == 4
    service.stop()

    # without data it keeps nothing
    shutil.rmtree(debian.path("/var/lib/smfleet"))
    debian.run("apt-get", "-qq", "-y", "purge", "smfleet")
    assert "smfleet" not in debian.run("getent", "passwd")
    assert "smfleet" not in debian.run("getent", "group")
    assert debian.files() - before == set()
    assert before - debian.files() == set()
