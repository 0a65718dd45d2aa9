"""A PostgreSQL of the test's own: a new cluster in a temporary folder, reached by a unix socket alone, and gone with it."""

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

USER = "sm"


def build_folder():
    """Where the programs under test are; read at each use: each file of a run is told its own (files_apart.py)."""
    return pathlib.Path(os.environ.get("SM_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build/asan")).resolve()


def find_binaries():
    """The folder of initdb and pg_ctl, which Debian does not put on PATH; of several the newest."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    if not found:
        raise FileNotFoundError("there is no PostgreSQL: tests/run packages installs it (postgresql-15)")
    return pathlib.Path(found[-1]).parent


def _identity():
    """It refuses to run as root: the user that Debian's package made for it."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def put_values(statement, values):
    """The statement with each ? as the value is spelled: psql binds none."""
    def spell(value):
        if isinstance(value, bytes):
            return f"'\\x{value.hex()}'::bytea"
        return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
    parts = statement.split("?")
    assert len(parts) == len(values) + 1, (statement, values)
    return parts[0] + "".join(spell(value) + part for value, part in zip(values, parts[1:]))


def copy(data, to):
    """What initdb has made is made once a build: it takes a second of a processor, a copy a tenth."""
    subprocess.run(["cp", "-a", data, to], check=True, stdin=subprocess.DEVNULL)


class Cluster:
    """with Cluster() as cluster: cluster.psql("SELECT 1"). Nothing is synced: it need not outlive the machine."""

    def __init__(self, settings=(), replica_of=None, folder=None, is_durable=False):
        """
        settings: as "name=value". replica_of: another one, whose streaming standby this is. folder: a place of the test's own.
        is_durable: what is said to be on disk is, as for a bench.
        """
        self.binaries = find_binaries()
        self.identity = _identity()
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="sm-pg-"))
        self.data, self.wal = self.folder / "data", None
        self.settings, self.replica_of, self.is_running = list(settings), replica_of, False
        self.is_durable = is_durable

    def __enter__(self):
        if self.identity:
            os.chown(self.folder, self.identity["user"], self.identity["group"])
        try:
            self._make()
            self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_):
        if self.is_running:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self):
        if self.replica_of:
            self._run("pg_basebackup", "-D", self.data, "-h", self.replica_of.folder, "-U", USER, "-R", "-c", "fast", "--no-sync")
            return
        made = build_folder() / "empty-databases" / f"postgresql-{self.binaries.parent.name}"
        if self.wal:
            self._initdb("--waldir", self.wal)
        elif made.exists():
            copy(made, self.data)
        else:
            self._initdb()
            made.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=made.parent) as folder:
                new = pathlib.Path(folder) / "data"
                copy(self.data, new)
                with contextlib.suppress(OSError):  # another process was the first
                    os.rename(new, made)

    def _initdb(self, *options):
        self._run("initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions", *options)

    def start(self):
        options = "".join(f" -c {setting}" for setting in self.settings)
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-o",
            f"-k {self.folder} -h ''{'' if self.is_durable else ' -F'}{options}", "start")
        self.is_running = True

    def _first_process(self):
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def kill(self):
        """SIGKILL to its first process; the others see that, and end."""
        os.kill(self._first_process(), signal.SIGKILL)
        self.is_running = False

    @contextlib.contextmanager
    def hanging(self):
        """with cluster.hanging(): its connections are there, and nothing is answered."""
        first = self._first_process()
        processes = [first, *map(int, pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split())]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    def promote(self):
        self._run("pg_ctl", "-D", self.data, "-w", "promote")

    def stop(self, mode="immediate"):
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")
        self.is_running = False

    @property
    def url(self):
        return f"postgresql://{USER}@/postgres?host={self.folder}"

    def psql(self, script):
        """What it prints, a row a line without headings. The first error ends it."""
        command = [self.binaries / "psql", "-h", self.folder, "-U", USER, "-d", "postgres", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(command, input=script, capture_output=True, text=True, check=False, cwd="/")
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return done.stdout

    def psql_until_it_fails(self, script, most=100):
        """It must: the server ends on the way."""
        for _ in range(most):
            try:
                self.psql(script)
            except RuntimeError:
                return
        raise AssertionError(f"the server went on after {most} times {script!r}")

    def session(self):
        return Session([self.binaries / "psql", "-h", self.folder, "-U", USER, "-d", "postgres", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"])

    def _run(self, program, *arguments):
        done = subprocess.run([self.binaries / program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, cwd="/", **self.identity)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout.strip()}")


class Session:
    """A psql that stays, with the transaction that it is in."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/")

    def run(self, script):
        """Done when this returns."""
        self.process.stdin.write(script + "\n\\echo done\n")
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()) != "done\n":
            assert line, "psql has ended"

    def close(self):
        """Its transaction is undone."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
