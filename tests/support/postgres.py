"""A PostgreSQL of the test's own: a new cluster in a temporary folder, reached by a unix socket alone, and gone with it."""

import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

USER = "sm"


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


class Cluster:
    """with Cluster() as cluster: cluster.psql("SELECT 1"). Nothing is synced: it need not outlive the machine."""

    def __init__(self):
        self.binaries = find_binaries()
        self.identity = _identity()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sm-pg-"))
        self.data = self.folder / "data"

    def __enter__(self):
        if self.identity:
            os.chown(self.folder, self.identity["user"], self.identity["group"])
        try:
            self._run("initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
            self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-o", f"-k {self.folder} -h '' -F", "start")

    def stop(self, mode="immediate"):
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

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

    def _run(self, program, *arguments):
        done = subprocess.run([self.binaries / program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, cwd="/", **self.identity)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout.strip()}")
