"""
deploy/examples/postgres: these very files, but for addresses, folders and passwords, in folders of the test's own: a PostgreSQL with a
synchronous standby, two servers, and haproxy, through which all is sent. A server is lost, then the database; nothing that was acknowledged is.
"""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess

import pytest

from load import Load
from pair import note
from postgres import Cluster
from smserver import PATIENCE_S, ROOT, Server, wait_until

EXAMPLE = ROOT / "deploy/examples/postgres"
OWNER, SERVER, REPLICATION = "owner secret", "server:secret", "replication"
LISTENS = ("db-a", "db-b", "sm-a", "sm-b", "haproxy")


def free_ports(names):
    """All held at once, so that they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in names]
        return dict(zip(names, [one.getsockname()[1] for one in sockets]))


def text(name, **changes):
    """Each of what is changed must be there."""
    words = (EXAMPLE / name).read_text()
    for old, new in changes.get("but", {}).items():
        assert old in words, f"{name} has no {old}"
        words = words.replace(old, str(new))
    return words


def command(begin):
    """An indented line of the README, which begins so."""
    found = [line.strip() for line in text("README.md").splitlines() if line.startswith("    " + begin)]
    assert len(found) == 1, (begin, found)
    return found[0]


class Node(Cluster):
    """A machine with Debian's PostgreSQL. It has the settings of the files, and of a test's own only what a test needs."""

    def __init__(self, port, pass_file, confs, copy=None):
        super().__init__()
        self.port, self.pass_file, self.confs, self.copy = port, pass_file, confs, copy

    def run_as(self, *words, **environment):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/",
            env={**os.environ, "PATH": f"{self.binaries}:{os.environ['PATH']}", "HOME": str(self.folder), "PGPASSFILE": str(self.pass_file), **environment}, **self.identity)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def _run(self, program, *arguments):
        self.run_as(self.binaries / program, *arguments)

    def _make(self):
        self.pass_file = self.own("pgpass", pathlib.Path(self.pass_file).read_text(), 0o600)
        if self.copy:
            words = shlex.split(self.copy)
            assert words[:3] == ["sudo", "-u", "postgres"]
            self.run_as(*[word.replace("/var/lib/postgresql/15/main", str(self.data)) for word in words[3:]])
        else:
            super()._make()
            (self.data / "conf.d").mkdir()
            with (self.data / "postgresql.conf").open("a") as conf:
                conf.write("include_dir = 'conf.d'\n")
            with (self.data / "pg_hba.conf").open("a") as rules:
                rules.write(text("pg_hba.conf"))
        # the test's own connection, by the socket, is trusted; whoever comes by an address is asked for what the example says
        rules = (self.data / "pg_hba.conf").read_text()
        (self.data / "pg_hba.conf").write_text(re.sub(r"^host .*\n", "", rules, flags=re.M))

    def own(self, name, words, mode):
        path = self.folder / name
        path.write_text(words)
        path.chmod(mode)
        if self.identity:
            os.chown(path, self.identity["user"], self.identity["group"])
        return path

    def configure(self, *confs):
        for name, words in confs:
            (self.data / "conf.d" / name).write_text(words)

    def start(self):
        self.configure(*self.confs)
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-o", f"-k {self.folder} -p {self.port} -F", "start")
        self.is_running = True

    def psql(self, script):
        return self.run_as(self.binaries / "psql", "-h", self.folder, "-p", str(self.port), "-U", "sm", "-d", "postgres", "-X", "-q", "-A", "-t", "-c", script)


class Example:
    def __init__(self, folder):
        self.folder, self.ports = folder, free_ports(LISTENS)
        self.address = {name: f"127.0.0.1:{port}" for name, port in self.ports.items()}
        words = shlex.split(command("openssl req"))
        subprocess.run([word.replace("DNS:db-a,DNS:db-b", "IP:127.0.0.1") for word in words], cwd=folder, check=True, capture_output=True)
        self.pass_file = folder / "pgpass"
        self.pass_file.write_text("".join(f"127.0.0.1:{self.ports[db]}:{database}:{user}:{password}\n" for db in ("db-a", "db-b")
            for database, user, password in (("smfleet", "smfleet", SERVER.replace(":", "\\:")), ("smfleet", "smfleet_owner", OWNER),
                ("replication", "smfleet_replication", REPLICATION))))
        self.pass_file.chmod(0o600)

    def changed_address(self, words):
        words = words.replace("db-a,db-b", f"{self.address['db-a']},{self.address['db-b']}")
        return words.replace("/etc/smfleet/db.crt", str(self.folder / "smfleet.crt"))

    def node(self, name, copy=None):
        node = Node(self.ports[name], self.pass_file, [], copy)
        key = node.own("smfleet.key", (self.folder / "smfleet.key").read_text(), 0o600)
        node.own("smfleet.crt", (self.folder / "smfleet.crt").read_text(), 0o644)
        primary = text("primary.conf", but={"'*'": "'127.0.0.1'", "/etc/postgresql/smfleet.key": key, "/etc/postgresql/smfleet.crt": node.folder / "smfleet.crt"})
        node.confs = [("50-smfleet.conf", primary), *([("60-smfleet-standby.conf", text("standby.conf"))] if copy else [])]
        return node

    def databases(self, stack):
        """As the README has it: roles before the settings that wait for a standby."""
        primary = self.node("db-a")
        confs, primary.confs = primary.confs, []
        stack.enter_context(primary)
        roles = primary.own("roles.sql", text("roles.sql"), 0o644)
        primary.run_as("psql", "-h", str(primary.folder), "-p", str(primary.port), "-U", "sm", "-d", "postgres", "-f", str(roles),
            OWNER_PASSWORD=OWNER, SERVER_PASSWORD=SERVER, REPLICATION_PASSWORD=REPLICATION)
        primary.stop("fast")
        primary.confs = confs
        primary.start()
        copy = command("sudo -u postgres pg_basebackup").replace("host=db-a", f"host=127.0.0.1 port={primary.port}").replace(
            "/etc/postgresql/smfleet.crt", str(primary.folder / "smfleet.crt"))
        standby = stack.enter_context(self.node("db-b", copy))
        wait_until(lambda: primary.psql("SELECT sync_state FROM pg_stat_replication").strip() == "sync", what="a synchronous standby")
        return primary, standby

    def server(self, name, folder):
        folder.mkdir(exist_ok=True)
        conf = folder / "sm-server.conf"
        conf.write_text(self.changed_address(text("sm-server.conf", but={"/var/lib/smfleet/key": folder / "key", "0.0.0.0:8080": self.address[name]})))
        unit = re.findall(r"^Environment=(\w+)=", text("smfleet.service.d/postgres.conf"), re.M)
        assert unit == ["PGPASSFILE"]
        one = Server(folder, environment={"PGPASSFILE": str(self.pass_file)})
        one.postgres, one.port = None, self.ports[name]
        one.database_options = lambda: ["--config", str(conf)]
        return one

    def tool(self, server, *words):
        done = subprocess.run([server.bin("sm-server"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
            cwd=server.folder, env={**os.environ, "PGPASSFILE": str(self.pass_file), "ASAN_OPTIONS": "exitcode=99"})
        return done

    def balancer(self):
        conf = self.folder / "haproxy.cfg"
        conf.write_text(text("haproxy.cfg", but={"sm-a:8080": self.address["sm-a"], "sm-b:8080": self.address["sm-b"],
            "bind :8080": f"bind {self.address['haproxy']}"}))
        subprocess.run(["haproxy", "-c", "-f", conf], check=True, capture_output=True)
        return subprocess.Popen(["haproxy", "-db", "-f", conf], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def running(example):
    with contextlib.ExitStack() as stack:
        process = example.balancer()
        stack.callback(process.wait)
        stack.callback(process.kill)
        yield process


def end(server):
    if server.process:
        server.process.kill()
        server.wait()


@pytest.fixture
def needs_haproxy():
    if not shutil.which("haproxy") and not os.path.exists("/usr/sbin/haproxy"):
        pytest.skip("needs haproxy (tests/run packages)")


def test_what_the_example_sets_up_survives_the_loss_of_a_server_and_of_a_database(tmp_path, needs_haproxy, monkeypatch):
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin")
    example = Example(tmp_path)
    with contextlib.ExitStack() as stack:
        primary, standby = example.databases(stack)
        first, second = (example.server(name, tmp_path / name) for name in ("sm-a", "sm-b"))
        for one in (first, second):
            stack.callback(end, one)

        made = example.tool(first, *shlex.split(example.changed_address(command("sm-server migrate")))[1:])
        assert made.returncode == 0 and "role 'smfleet' may run a server" in made.stdout, made
        token = example.tool(first, *shlex.split(command("sm-server token create").replace("/etc/smfleet/sm-server.conf", f"{first.folder}/sm-server.conf"))[1:])
        assert token.returncode == 0, token
        shutil.copy(first.folder / "key", second.folder / "key")
        facts = example.tool(first, *shlex.split(command("sm-server doctor").replace("/etc/smfleet/sm-server.conf", f"{first.folder}/sm-server.conf"))[1:]).stdout
        assert "all that a server needs" in facts and "waits for smfleet_standby" in facts and re.search(r"connection +TLSv1\.[23] from 127\.0\.0\.1\n", facts), facts
        assert re.findall(r"^(\w+) .*WRONG", facts, re.M) == ["fsync"], facts  # of a test's database

        first.start(example.address["sm-a"])
        second.launch(example.address["sm-b"])
        second.wait_for_log("event=standby")
        stack.enter_context(running(example))
        door = Server(tmp_path)
        door.port = example.ports["haproxy"]

        def serves():
            with contextlib.suppress(OSError):
                return door.get("/readyz").status == 200
        wait_until(serves, what="the balancer to find a server")
        with Load([door], token=token.stdout.strip(), gateway=(502, 504)) as load:
            load.wait_for_more()
            first.process.kill()
            first.wait()
            second.wait_for_log("event=took_over")
            load.wait_for_more()
            primary.kill()
            standby.promote()
            load.wait_for_more()
            door.token = token.stdout.strip()
            note("the example: server killed, then the primary, standby promoted", load, load.check(door))
            first.assert_clean()
            second.assert_clean()


def test_the_units_of_the_example_have_no_mistakes(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze")
    unit = tmp_path / "smfleet.service"
    unit.write_text((ROOT / "deploy/smfleet.service").read_text().replace("/usr/bin/sm-server", "/bin/true"))
    shutil.copytree(EXAMPLE / "smfleet.service.d", tmp_path / "smfleet.service.d")
    done = subprocess.run(["systemd-analyze", "verify", unit], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
