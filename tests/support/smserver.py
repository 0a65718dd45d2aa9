"""Starts a real sm-server on a free port, talks to it, stops it, kills it. Standard library only; nothing here sleeps blindly."""

import atexit
import contextlib
import functools
import http.client
import json as jsonlib
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.parse

import ports
import postgres
from postgres import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
SANITIZER_MARKS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", "runtime error:", "AddressSanitizer:DEADLYSIGNAL")
# A sanitizer makes everything slower, and two cores are shared: generous, because a test that passes never waits this long.
PATIENCE_S = float(os.environ.get("SM_TEST_PATIENCE_S", "60"))

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.1

_pause = threading.Event()


def wait_until(condition, timeout=PATIENCE_S, what="the condition"):
    """
    The first true result of condition(), asked again and again, ever less often: each question costs two processes a millisecond or two. Fails with `what`
    when there was none in time. What it asserts, or looks for where nothing is yet (the points of a metric that has none, the first of no incidents), is
    asked again, too; at the end it is raised.
    """
    deadline, pause_s = time.monotonic() + timeout, FIRST_PAUSE_S
    while True:
        result = failure = None
        try:
            result = condition()
        except (AssertionError, LookupError, TypeError) as early:
            failure = early
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:.0f} s in vain for {what}; last: {result!r}") from failure
        _pause.wait(pause_s)
        pause_s = min(LONGEST_PAUSE_S, pause_s * 1.3)


def find_binary(name):
    build = build_folder()
    for folder in (build, build / "server/cli", build / "server/app", build / "tests"):
        if (folder / name).is_file():
            return str(folder / name)
    raise FileNotFoundError(f"no {name} below {build}; build it first (or set SM_BUILD_DIR)")


def sanitizer_environment(environment=None):
    merged = dict(os.environ if environment is None else environment)
    merged.setdefault("ASAN_OPTIONS", "detect_leaks=1:exitcode=99:detect_stack_use_after_return=1")
    merged.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    merged.setdefault("TSAN_OPTIONS", os.environ.get("TSAN_OPTIONS", "exitcode=66:halt_on_error=1:second_deadlock_stack=1"))
    return merged


@functools.cache
def shared_cluster():
    """Of this process's tests; gone with it."""
    cluster = postgres.Cluster()
    cluster.__enter__()
    atexit.register(cluster.__exit__)
    return cluster


@functools.cache
def empty_database(program):
    """
    As this very program makes a new one, made once for all tests of the build: a third of the time in which a server is there, and all its waits for the disk,
    are its tables. Of several processes that make it at once each puts a whole one into place. (The program's 40 MB are not read for its name: each file of
    tests would do so.)
    """
    linked = pathlib.Path(program).stat()
    path = build_folder() / "empty-databases" / f"{linked.st_size}-{linked.st_mtime_ns}.db"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = pathlib.Path(folder) / "new.db"
            subprocess.run([program, "migrate", "--no-backup", "--db", str(made)], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                env=sanitizer_environment({}))
            assert [file.name for file in made.parent.glob("*-wal")] == [], "all of it is in the one file"
            os.replace(made, path)
        for old in sorted(path.parent.glob("*.db"), key=lambda file: file.stat().st_mtime)[:-8]:
            old.unlink(missing_ok=True)
    return path


def quote(name):
    return urllib.parse.quote(name, safe="")


class Reply:
    """status, headers, body = reply. body: parsed JSON where the content type says so, else text (bytes when it is none)."""

    def __init__(self, status, headers, raw):
        self.status, self.headers, self.raw = status, headers, raw
        self.body = self._parse()

    def _parse(self):
        media_type = (self.headers.get("Content-Type") or "").partition(";")[0].strip()
        if media_type.endswith("json") and media_type != "application/x-ndjson" and self.raw:
            return jsonlib.loads(self.raw)
        try:
            return self.raw.decode()
        except UnicodeDecodeError:
            return self.raw

    def __iter__(self):
        return iter((self.status, self.headers, self.body))

    def __repr__(self):
        return f"Reply({self.status}, {self.raw[:600]!r})"


class Live:
    """One subscriber of the event stream: a thread reads it, `next` hands events out in order."""

    def __init__(self, server, path, headers=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        self.connection.request("GET", path, headers=headers or {})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.headers = self.response.headers
        self.events, self.is_over = [], False
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        event = {}
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            while True:
                line = self.response.readline()
                if not line:
                    break
                line = line.decode().rstrip("\r\n")
                if not line:
                    self._deliver(event)
                    event = {}
                elif not line.startswith(":"):
                    field, _, value = line.partition(":")
                    value = value[1:] if value.startswith(" ") else value
                    event[field] = event[field] + "\n" + value if field in event else value
        with self.changed:
            self.is_over = True
            self.changed.notify_all()

    def _deliver(self, event):
        if "data" in event or "event" in event:
            with contextlib.suppress(ValueError, KeyError):
                event["json"] = jsonlib.loads(event["data"])
            with self.changed:
                self.events.append(event)
                self.changed.notify_all()

    def next(self, kind=None, timeout=PATIENCE_S, where=lambda event: True):
        """Takes events out until one is of the kind; the others are dropped."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                while self.events:
                    event = self.events.pop(0)
                    if (kind is None or event.get("event") == kind) and where(event):
                        return event
                if self.is_over:
                    raise AssertionError(f"the event stream ended before a {kind or 'next'} event")
                if not self.changed.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() > deadline:
                    raise AssertionError(f"no {kind or 'next'} event within {timeout:.0f} s")

    def wait_for_end(self, timeout=PATIENCE_S):
        self.thread.join(timeout)
        assert not self.thread.is_alive(), "the event stream is still open"

    def close(self):
        with contextlib.suppress(OSError):
            if self.connection.sock:
                self.connection.sock.shutdown(2)
        self.thread.join(PATIENCE_S)
        self.connection.close()


class Server:
    """`folder` holds the database; the process is started by start() and ended by stop() or kill()."""

    makes_its_tables = False  # True: of tests of the first start, or of servers of another build

    def __init__(self, folder, *arguments, environment=None, postgres=None):
        """postgres: a Cluster, and the database is the schema of the folder's name in it; else SM_TEST_DB=postgresql says so for all."""
        self.folder = pathlib.Path(folder)
        self.database = self.folder / "smfleet.db"
        self.postgres = postgres or (shared_cluster() if os.environ.get("SM_TEST_DB") == "postgresql" else None)
        self.arguments = list(arguments)
        self.environment = environment or {}
        self.wrapper = []  # a program that becomes the server: prlimit, strace -D
        self.process = self.port = self.token = self.own_port = None
        self.log, self.changed = [], threading.Condition()
        self.subscribers = []

    # ---- the process ----
    @property
    def schema(self):
        return "sm_" + re.sub(r"[^a-z0-9_]", "_", "_".join(self.folder.parts[-2:]).lower())[-60:]

    def database_options(self):
        if not self.postgres:
            return ["--db", str(self.database)]
        return ["--db", self.postgres.url, "--schema", self.schema, "--secret-key-file", str(self.database) + ".key"]

    def sql(self, statement, *values):
        """One statement of both databases, ? being a value: its rows, of numbers and texts. What changes something, while no server works."""
        if self.postgres:
            rows = self.postgres.psql(f"SET search_path TO {self.schema};\n{postgres.put_values(statement, values)};")
            return [tuple(int(field) if re.fullmatch(r"-?\d+", field) else field for field in row.split("|")) for row in rows.splitlines()]
        with contextlib.closing(sqlite3.connect(self.database)) as database, database:
            return database.execute(statement, values).fetchall()

    def tables_with(self, column):
        of_a_file = "SELECT m.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c ON c.name = ? WHERE m.type = 'table'"
        rows = self.sql("SELECT table_name FROM information_schema.columns WHERE column_name = ? AND table_schema = current_schema()"
            if self.postgres else of_a_file, column)
        return [name for (name,) in rows]

    def start(self, listen="127.0.0.1:0", *arguments):
        self.launch(listen, *arguments)
        line = self.wait_for_log(r"event=listening\b.*\bport=(\d+)")
        self.port = int(line.group(1))
        return self

    def launch(self, listen="127.0.0.1:0", *arguments):
        """Does not wait until it listens."""
        if listen == "127.0.0.1:0":
            self._release_port()
            self.own_port = ports.Port()
            self.port = self.own_port.number
            listen = f"127.0.0.1:{self.port}"
        self._copy_tables()
        self._run([*self.wrapper, self.bin("sm-server"), "--listen", listen, *self.database_options(), *self.arguments, *arguments])

    def launch_command(self, *words):
        """Another command of the program on the database, in the server's place: `restore` …"""
        self._run([self.bin("sm-server"), *words, *self.database_options()])

    def _run(self, command):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SMFLEET_")}
        environment = sanitizer_environment({**environment, **self.environment})
        with self.changed:
            self.log = []
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=environment, cwd=self.folder)
        self.reader = threading.Thread(target=self._read_log, args=(self.process,), daemon=True)
        self.reader.start()

    def _release_port(self):
        if self.own_port:
            self.own_port.close()
        self.own_port = None

    def _copy_tables(self):
        """Where nothing is yet."""
        if not self.makes_its_tables and not self.postgres and not any(self.database.parent.glob(self.database.name + "*")):
            shutil.copyfile(empty_database(self.bin("sm-server")), self.database)
            self.database.chmod(0o600)

    def _read_log(self, process):
        for line in process.stderr:
            with self.changed:
                self.log.append(line.decode(errors="replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.log.append("(end of the log)")
            self.changed.notify_all()

    def wait_for_log(self, pattern, timeout=PATIENCE_S):
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                for line in self.log:
                    found = re.search(pattern, line)
                    if found:
                        return found
                if "(end of the log)" in self.log or time.monotonic() > deadline:
                    raise AssertionError(f"the server never said {pattern!r}; its log:\n" + "\n".join(self.log))
                self.changed.wait(max(0.01, deadline - time.monotonic()))

    def log_text(self):
        with self.changed:
            return "\n".join(self.log)

    def bin(self, name):
        return find_binary(name)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=PATIENCE_S):
        """Waits for the end of a process that was told to; returns its exit code and has its whole log."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not end within {timeout} s; its log:\n{self.log_text()}") from None
        self.reader.join(PATIENCE_S)
        return code

    def assert_clean(self):
        text = self.log_text()
        for mark in SANITIZER_MARKS:
            assert mark not in text, f"a sanitizer reported:\n{text}"

    def stop(self, timeout=PATIENCE_S):
        """SIGTERM; the server must end by itself with 0 and without a sanitizer's report."""
        if not self.process:
            return
        self.signal(signal.SIGTERM)
        code = self.wait(timeout)
        self.process = None
        self.assert_clean()
        assert code == 0, f"sm-server ended with {code}; its log:\n{self.log_text()}"

    def kill(self):
        """SIGKILL: what a power cut looks like to the database."""
        self.process.kill()
        self.wait()
        self.process = None
        self.assert_clean()

    def restart(self, keep_port=True):
        if self.process:
            self.stop()
        return self.start(f"127.0.0.1:{self.port}" if keep_port else "127.0.0.1:0")

    def close(self):
        for subscriber in self.subscribers:
            subscriber.close()
        if self.process and self.process.poll() is not None:
            code = self.wait()
            self.process = None
            raise AssertionError(f"sm-server died with {code}; its log:\n{self.log_text()}")
        self.stop()
        self._release_port()

    # ---- requests ----
    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def request(self, method, path, body=None, *, json=None, headers=None, content_type=None, token=None, timeout=PATIENCE_S):
        headers = dict(headers or {})
        if json is not None:
            body, content_type = jsonlib.dumps(json).encode(), content_type or "application/json"
        if isinstance(body, str):
            body = body.encode()
        if body is not None and content_type is None:
            content_type = "text/plain"
        if content_type and "Content-Type" not in headers:
            headers["Content-Type"] = content_type
        token = self.token if token is None else token
        if token and "Authorization" not in headers:
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        except TimeoutError as late:
            late.add_note(f"{method} {path}: no answer within {timeout} s; what the server's threads do:\n{self.stacks()}")
            raise
        finally:
            connection.close()

    def processor_s(self):
        """What its process has used so far: how long something took says also how busy the machine is. The clock is that of clock_getcpuclockid(3)."""
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def stacks(self):
        """Of all threads of the server, where there is a debugger: of a request that hangs nothing else is left behind."""
        debugger = shutil.which("gdb")
        if not debugger or not self.process or self.process.poll() is not None:
            return "(no debugger, or no process)"
        said = subprocess.run([debugger, "-p", str(self.process.pid), "-batch", "-nx", "-ex", "thread apply all bt 12"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, timeout=PATIENCE_S)
        return "\n".join(line for line in said.stdout.splitlines() if re.match(r"Thread|#", line))

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.request("POST", path, body, **options)

    def put(self, path, body=None, **options):
        return self.request("PUT", path, body, **options)

    def patch(self, path, body=None, **options):
        return self.request("PATCH", path, body, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def live(self, query="", headers=None):
        subscriber = Live(self, "/api/v1/live" + (f"?{query}" if query else ""), headers)
        self.subscribers.append(subscriber)
        return subscriber

    # ---- what most tests do ----
    def send(self, job, lines, stream="algo-1", **options):
        """Posts lines as plain text; they must be taken, all of them. Returns the reply's body."""
        lines = [lines] if isinstance(lines, str) else list(lines)
        reply = self.post(f"/api/v1/logs?job={quote(job)}&stream={quote(stream)}", "".join(line + "\n" for line in lines), **options)
        assert reply.status == 200, reply
        assert reply.body["accepted"] == len(lines), reply
        return reply.body

    def lines(self, job, stream="algo-1", page=1000):
        """All lines of a stream as {n, ts_ms, stream, text}, page after page."""
        rows = []
        while True:
            reply = self.get(f"/api/v1/jobs/{quote(job)}/logs?stream={quote(stream)}&from={len(rows)}&limit={page}")
            assert reply.status == 200, reply
            rows += reply.body["lines"]
            if not reply.body["lines"] or len(rows) >= reply.body["total"]:
                return rows

    def series(self, job, metric, stream="algo-1"):
        """One row of …/metrics or None."""
        reply = self.get(f"/api/v1/jobs/{quote(job)}/metrics")
        if reply.status != 200:
            return None
        for row in reply.body["series"]:
            if row["metric"] == metric and row["stream"] == stream:
                return row
        return None

    def wait_for_points(self, job, metric, count, stream="algo-1"):
        """Derived data follows the 200 within moments: waits until the series has that many points."""
        def has_all():
            row = self.series(job, metric, stream)
            return row if row and row["count"] >= count else None
        return wait_until(has_all, what=f"{count} points of {metric} in {job}/{stream}")

    def figure(self, name):
        """One number of /metrics that has no labels: figure("committed_seq")."""
        values = [line.split()[1] for line in self.get("/metrics").raw.decode().splitlines() if line.startswith(f"smfleet_{name} ")]
        assert len(values) == 1, (name, values)
        return float(values[0])

    def wait_for_extraction(self):
        """All that was acknowledged is extracted, in whatever streams: what is not there now does not come of it any more, but for what waits for a tracker."""
        wait_until(lambda: self.figure("committed_seq") <= self.figure("extracted_seq"), what="the extraction of all that was sent")

    def points(self, job, metric, **parameters):
        query = urllib.parse.urlencode({"metric": metric, **parameters})
        reply = self.get(f"/api/v1/jobs/{quote(job)}/points?{query}")
        assert reply.status == 200, reply
        return reply.body
