"""kill -9 at any moment: whatever was acknowledged is there afterwards, and nothing is there twice."""

import contextlib
import http.client
import os
import random
import sqlite3
import threading

from engine import of_a_file
from smserver import PATIENCE_S, wait_until

KILLS = int(os.environ.get("SM_KILLS", "20"))
SEED = int(os.environ.get("SM_KILL_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)
CLIENTS = 4


class Client:
    """Writes numbered lines into its own stream, batch after batch; a batch without an answer is sent again, by its offset."""

    def __init__(self, number, chance):
        self.stream, self.chance = f"algo-{number + 1}", chance
        self.acknowledged_lines = self.offset = 0
        self.batch = b""
        self.batch_lines = 0
        self.failure = None

    def next_batch(self):
        if not self.batch:
            # the largest goes as a block; seldom, since what is killed is the same and each line costs its extraction
            self.batch_lines = 7500 if self.chance.random() < 0.04 else self.chance.choice((1, 3, 20, 200, 200))
            first = self.acknowledged_lines
            self.batch = b"".join(b"step: %d loss: %d.5\n" % (n, n % 97) for n in range(first, first + self.batch_lines))

    def run(self, port, acknowledge):
        """Until the server is gone."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            while True:
                self.next_batch()
                connection.request("POST", f"/api/v1/logs?job=crash&stream={self.stream}&offset={self.offset}", body=self.batch,
                    headers={"Content-Type": "text/plain"})
                response = connection.getresponse()
                text = response.read()
                if response.status != 200:
                    self.failure = f"{self.stream} at offset {self.offset}: {response.status} {text!r}"
                    acknowledge()
                    return
                self.acknowledged_lines += self.batch_lines
                self.offset += len(self.batch)
                self.batch = b""
                acknowledge()


def kill_during_ingest(server, clients, acknowledgements):
    """Lets the clients run and kills the server once so many requests were answered."""
    count, enough = [0], threading.Event()
    lock = threading.Lock()

    def acknowledge():
        with lock:
            count[0] += 1
            if count[0] >= acknowledgements or any(client.failure for client in clients):
                enough.set()

    threads = [threading.Thread(target=client.run, args=(server.port, acknowledge)) for client in clients]
    for thread in threads:
        thread.start()
    assert enough.wait(2 * PATIENCE_S), "the clients made no progress"
    server.kill()
    for thread in threads:
        thread.join(60)
    assert [client.failure for client in clients if client.failure] == []


def check(server, clients, stored_before):
    """Right after the restart, before anybody sends again; returns how many lines each stream holds."""
    stored = {}
    for client in clients:
        if client.acknowledged_lines == 0 and server.get(f"/api/v1/jobs/crash/logs?stream={client.stream}").status == 404:
            stored[client.stream] = 0
            continue
        begin = stored_before.get(client.stream, 0)
        total = server.get(f"/api/v1/jobs/crash/logs?stream={client.stream}&limit=1").body["total"]
        # a batch is all or nothing: the one that was under way is there whole, or not at all
        assert total in (client.acknowledged_lines, client.acknowledged_lines + client.batch_lines), (client.stream, SEED)
        texts = []
        while begin + len(texts) < total:
            page = server.get(f"/api/v1/jobs/crash/logs?stream={client.stream}&from={begin + len(texts)}&limit=1000").body["lines"]
            assert page, f"{client.stream} has no line {begin + len(texts)} of {total} (seed {SEED})"
            texts += [line["text"] for line in page]
        assert texts == [f"step: {n} loss: {n % 97}.5" for n in range(begin, total)], (client.stream, SEED)
        stored[client.stream] = total
    return stored


def check_points(server, stored):
    """One point a line, each at its step: derivation repeats nothing and forgets nothing."""
    for stream, total in stored.items():
        if not total:
            continue
        row = server.wait_for_points("crash", "train:loss", total, stream)
        assert (row["count"], row["first_step"], row["last_step"]) == (total, 0, total - 1), (stream, SEED)
        columns = server.points("crash", "train:loss", stream=stream, buckets=1000)["columns"]
        assert sum(columns["count"]) == total and columns["x"][0] == 0
        window = server.points("crash", "train:loss", stream=stream, buckets=10000, **{"from": max(0, total - 2000)})["columns"]
        assert window["x"] == list(range(max(0, total - 2000), total)), (stream, SEED)
        assert window["last"] == [n % 97 + 0.5 for n in window["x"]], (stream, SEED)


def check_summary(server, stored):
    """What lists and searches go by has all of it, without another line: also what was sealed between its last flush and the kill."""
    def counts():
        (job,) = server.get("/api/v1/jobs").body["jobs"]
        return job["lines"], sum(one["count"] for one in job["metrics"] if one["metric"] == "train:loss")

    total = sum(stored.values())
    wait_until(lambda: counts() == (total, total), what=f"the summary of {total} lines (seed {SEED})")


def test_kill_9(make_server):
    chance = random.Random(SEED)
    print(f"seed {SEED}")
    server = make_server(start=False)
    clients = [Client(number, random.Random(SEED + number)) for number in range(CLIENTS)]
    stored = {}
    for number in range(KILLS):
        # every other life seals eagerly, so that a kill also meets lines on their way out of the journal
        sealing = ["--seal-age", "100ms", "--seal-bytes", "64KiB"] if number % 2 else []
        server.start("127.0.0.1:0", *sealing)
        stored = check(server, clients, stored)
        kill_during_ingest(server, clients, chance.randint(1, 60))
        if number % 5 == 4: # and one that dies while it recovers
            server.start("127.0.0.1:0", *sealing)
            server.kill()
    server.start()
    stored = check(server, clients, stored)
    check_points(server, stored)
    check_summary(server, stored)
    # the senders come back and nobody notices anything
    for client in clients:
        client.next_batch()
        reply = server.post(f"/api/v1/logs?job=crash&stream={client.stream}&offset={client.offset}", client.batch)
        assert reply.status == 200 and reply.body["next_offset"] == client.offset + len(client.batch), reply
        client.acknowledged_lines += client.batch_lines
        client.batch = b""
        client.batch_lines = 0
    stored = check(server, clients, {})
    check_points(server, stored)


def test_incident_is_found_once_over_a_kill(server):
    """The replay after a crash says the same again; it must not be stored twice."""
    steady = [f"step: {n} loss: {3 + (n * 7919 % 100) / 1000:.3f}" for n in range(300)]
    server.send("j", steady + [f"step: {n} loss: 9.0" for n in range(300, 306)])
    incidents = wait_until(lambda: server.get("/api/v1/incidents").body["incidents"], what="the spike")
    server.kill()
    server.start()
    server.send("j", [f"step: {n} loss: 3.05" for n in range(306, 310)])
    server.wait_for_points("j", "train:loss", 310)
    again = server.get("/api/v1/incidents").body["incidents"]
    assert [row["id"] for row in again] == [row["id"] for row in incidents]
    assert again[0]["opened_step"] == incidents[0]["opened_step"]


def damage_journal(server, seq):
    """Flips a byte in the middle of one record."""
    with contextlib.closing(sqlite3.connect(server.database)) as database:
        (record,) = database.execute("SELECT record FROM journal WHERE seq = ?", (seq,)).fetchone()
        middle = len(record) // 2
        database.execute("UPDATE journal SET record = ? WHERE seq = ?",
            (record[:middle] + bytes([record[middle] ^ 0xff]) + record[middle + 1:], seq))
        database.commit()


@of_a_file("what is in its tables")
def test_a_damaged_journal_record_harms_its_own_lines_alone(make_server):
    server = make_server()
    for stream in ("algo-1", "algo-2"):
        for part in range(3):
            reply = server.post(f"/api/v1/logs?job=hurt&stream={stream}", "".join(f"step: {part * 10 + n} loss: 1.5\n" for n in range(10)))
            assert reply.status == 200, reply
            if (stream, part) == ("algo-1", 1):
                seq = int(reply.body["seq"])
    server.kill()
    damage_journal(server, seq)
    server.start("127.0.0.1:0", "--seal-age", "100ms")
    server.wait_for_log(f"event=journal_damaged seq={seq} ")
    server.wait_for_log('event=lines_lost job="hurt" stream="algo-1" first_line=10 lines=10')
    wait_until(lambda: "\nsmfleet_lost_lines_total 10\n" in server.get("/metrics").body, what="the count of lost lines")
    wait_until(lambda: "\nsmfleet_sealed_lines_total 60\n" in server.get("/metrics").body, what="the seal of all else")
    assert server.post("/api/v1/logs?job=hurt&stream=algo-1", "step: 30 loss: 1.5\n").status == 200
    texts = [line["text"] for line in server.lines("hurt", "algo-1")]
    lost = "(lost: the journal record of this line is damaged)"
    assert texts == [lost if 10 <= n < 20 else f"step: {n} loss: 1.5" for n in range(31)]
    assert [line["text"] for line in server.lines("hurt", "algo-2")] == [f"step: {n} loss: 1.5" for n in range(30)]
    assert server.wait_for_points("hurt", "train:loss", 30, "algo-2")["last_step"] == 29
    server.wait_for_points("hurt", "train:loss", 21, "algo-1")


@of_a_file("what is in its tables")
def test_another_server_on_the_same_database_is_refused(server, make_server):
    second = make_server(start=False)
    second.database = server.database
    second.arguments = ["--log-level", "info"]
    try:
        second.start()
    except AssertionError as failure:
        assert "smfleet.db" in str(failure)
        second.wait()
        second.process = None
    else:
        raise AssertionError("two servers on one database")
    server.send("j", "the first goes on")
