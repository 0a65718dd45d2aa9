"""Files of two machines in one stream: each one's lines are there once, whoever goes on with whose job."""

import contextlib
import hashlib
import signal
import sqlite3

import pytest
from shipping import lines
from engine import of_a_file
from smserver import Server, wait_until

SLOT_BYTES, SLOTS, HASH_BYTES = 64 << 10, 2, 8


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("server"), "--lease", "1s").start()
    yield running
    running.close()


def texts(name, first, end):
    return [f"{i:03} on {name}" for i in range(first, end)]


def append(path, some):
    with path.open("a") as file:
        file.write("".join(text + "\n" for text in some))


class Machines:
    """A follows a file of which the server has the first 20 lines; B, with a spool of its own, goes on with the job by its file."""

    def __init__(self, server, ship, job):
        self.server, self.ship, self.job = server, ship, job
        self.path = ship.folder / "a.log"
        self.path.touch()  # what is not there when a sm-ship begins is not followed
        self.words = ["--server", server.url, "--job", job, "--stream", "algo-1"]

    def stored(self, name):
        return [line for line in lines(self.server, self.job) if line.endswith(f"on {name}")]

    @contextlib.contextmanager
    def following(self, *more):
        process = self.ship.start(*self.words, *more, "--follow", str(self.path))
        try:
            yield process
            assert process.poll() is None, process.communicate()[1]
        finally:
            process.kill()
            process.communicate()

    def begin(self):
        """Killed behind its 20 lines: what is noted of them is a batch that the server has."""
        with self.following():
            append(self.path, texts("A", 0, 19))
            wait_until(lambda: len(self.stored("A")) == 19, what="its first lines")
            append(self.path, texts("A", 19, 20))
            wait_until(lambda: len(self.stored("A")) == 20, what="its last line")

    def take_over(self, count):
        other = self.ship.folder / f"b-{count}.log"
        append(other, texts("B", 0, count))
        result = self.ship.run(*self.words, "--host", "b", "--resume", "--spool", str(self.ship.folder / "spool-of-b"), str(other))
        assert result.returncode == 0, result.stderr

    def check(self, of_a, of_b):
        assert self.stored("A") == texts("A", 0, of_a) and self.stored("B") == texts("B", 0, of_b)
        assert len(lines(self.server, self.job)) == of_a + of_b


@pytest.mark.parametrize("way, count", [("followed", 3), ("read to its end", 60), ("rotated", 60)])
def test_a_file_goes_on_where_it_stood(server, ship, way, count):
    machines = Machines(server, ship, f"{way} {count}")
    machines.begin()
    append(machines.path, texts("A", 20, 40))
    if way == "rotated":
        machines.path.rename(machines.path.with_suffix(".log.1"))
    append(machines.path, texts("A", 40, 60))
    machines.take_over(count)
    machines.check(20, count)
    for _ in range(2):
        if way == "read to its end":
            result = ship.run(*machines.words, "--resume", str(machines.path))
            assert result.returncode == 0, result.stderr
        else:
            with machines.following("--resume"):
                wait_until(lambda: len(machines.stored("A")) == 60, what="the rest")
        machines.check(60, count)


def test_one_that_was_away_sends_the_rest(server, ship):
    machines = Machines(server, ship, "away")
    with machines.following() as process:
        append(machines.path, texts("A", 0, 20))
        wait_until(lambda: len(machines.stored("A")) == 20, what="its first lines")
        process.send_signal(signal.SIGSTOP)
        append(machines.path, texts("A", 20, 60))
        machines.take_over(60)
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(machines.stored("A")) == 60, what="the rest")
    machines.check(60, 60)


def test_the_same_server_by_another_name(server, ship):
    machines = Machines(server, ship, "renamed")
    machines.begin()
    machines.take_over(60)
    append(machines.path, texts("A", 20, 60))
    machines.words[1] = f"http://localhost:{server.port}"
    with machines.following("--resume"):
        wait_until(lambda: len(machines.stored("A")) == 60, what="the rest")
    machines.check(60, 60)


def packed_number(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def as_an_older_one(path):
    """What a ledger was before its pages named a source: that is their last text."""
    data, found = path.read_bytes(), 0
    for at in range(0, SLOTS * SLOT_BYTES, SLOT_BYTES):
        slot = data[at:at + SLOT_BYTES]
        start, length, shift = HASH_BYTES, 0, 0
        while len(slot) > start:
            length |= (slot[start] & 127) << shift
            start, shift = start + 1, shift + 7
            if slot[start - 1] < 128:
                break
        body = slot[start:start + length]
        name = body.rfind(b"\x18sm-ship-")
        if name < 0:
            continue
        assert len(body) == name + 25
        body = body[:name]
        older = hashlib.sha256(body).digest()[:HASH_BYTES] + packed_number(len(body)) + body
        data, found = data[:at] + older + data[at + len(older):], found + 1
    assert found
    path.write_bytes(data)


@of_a_file("what is in its tables")
def test_what_an_older_one_began_is_not_sent_again(make_server, ship):
    """It counted without a source. B, of this version, does not move that count."""
    server = make_server("--lease", "1s")
    machines = Machines(server, ship, "older")
    machines.begin()
    as_an_older_one(next(ship.spool.glob("*.ledger")))
    server.stop()
    with sqlite3.connect(server.database) as database:  # what is there was counted as the stream's own
        assert database.execute("DELETE FROM sources").rowcount >= 1
    database.close()
    server.start(f"127.0.0.1:{server.port}")
    machines.take_over(60)
    append(machines.path, texts("A", 20, 60))
    for _ in range(2):
        with machines.following("--resume"):
            wait_until(lambda: len(machines.stored("A")) == 60, what="the rest")
        machines.check(60, 60)
    sources = server.get("/api/v1/jobs/older/streams?sources=true").body["streams"][0]["sources"]
    assert sources.pop("") == 60 * len("000 on A\n") and len(sources) == 1
