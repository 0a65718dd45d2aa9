"""The power goes while all kinds of things are written, at any operation of the disk: each sector that was not synced is there or not. What was acknowledged is there
afterwards, once; what was under way is there whole, or not at all."""

import contextlib
import http.client
import json
import threading
import time

from attack import attack
from ends import PowerLosses
from faults import FaultyServer
from killing import check, fresh
from smserver import quote, wait_until

OPTIONS = ("--seal-age", "100ms", "--seal-bytes", "64KiB", "--wal-bytes", "1MiB", "--min-free-bytes", "0")
LONGEST_LIFE_S, LIVES_OF_A_FILE = 4, 20
GONE = (OSError, http.client.HTTPException)


class Sender:
    """One thread a life, until the server is gone. `under_way` is what has no answer: it is sent again in the next life, before all else."""

    def __init__(self, server, chance, name):
        self.server, self.chance, self.name = server, chance, name
        self.acknowledged, self.under_way, self.failure = 0, 0, None

    def run(self):
        with contextlib.suppress(*GONE):
            while not self.failure:
                self.send_some()

    def send_some(self):
        self.under_way = self.under_way or self.chance.choice((1, 3, 40, 40, 200, 2500))
        reply = self.send(range(self.acknowledged, self.acknowledged + self.under_way))
        if reply.status != 200:
            self.failure = f"{self.name} at {self.acknowledged}: {reply}"
        else:
            self.acknowledged += self.under_way
            self.under_way = 0

    def may_have(self, count):
        """Of the unanswered all or none."""
        assert count in (self.acknowledged, self.acknowledged + self.under_way), (self.name, count, self.acknowledged, self.under_way)
        return count


class Lines(Sender):
    def send(self, numbers):
        offset = self.offset if numbers.start else 0
        body = "".join(map(self.line, numbers))
        reply = self.server.post(f"/api/v1/logs?job=lines&stream={self.name}&offset={offset}", body)
        if reply.status == 200:
            self.offset = offset + len(body)
        return reply

    @staticmethod
    def line(n):
        return f"step: {n} loss: {n % 97}.5\n"

    def verify(self):
        if self.server.get(f"/api/v1/jobs/lines/logs?stream={self.name}").status == 404:
            assert self.may_have(0) == 0
            return
        texts = [row["text"] for row in self.server.lines("lines", self.name)]
        assert texts == [self.line(n)[:-1] for n in range(self.may_have(len(texts)))], self.name
        if texts:
            row = self.server.wait_for_points("lines", "train:loss", len(texts), self.name)
            assert (row["count"], row["first_step"], row["last_step"]) == (len(texts), 0, len(texts) - 1), row


class Points(Sender):
    def send(self, numbers):
        body = {"series": [{"metric": "sent", "step": list(numbers), "value": [n % 97 + 0.5 for n in numbers]}]}
        return self.server.post(f"/api/v1/points?job={self.name}", json.dumps(body), content_type="application/json", headers={"Idempotency-Key": f"{numbers.start}-{numbers.stop}"})

    def verify(self):
        row = self.server.series(self.name, "sent")
        count = self.may_have(row["count"] if row else 0)
        assert not row or (row["first_step"], row["last_step"]) == (0, count - 1), row
        if row:
            first = max(0, count - 2000)
            columns = self.server.points(self.name, "sent", buckets=10000, **{"from": first})["columns"]
            assert columns["x"] == list(range(first, count)) and columns["last"] == [n % 97 + 0.5 for n in columns["x"]], self.name


class Jobs:
    """Made, filled and deleted, one after another: each is there whole, or not."""

    LINES = [f"step {n} loss={3 + n % 7 / 10:.1f}" for n in range(20)]

    def __init__(self, server, chance, name):
        self.server, self.chance, self.name = server, chance, name
        self.there, self.gone, self.unsure, self.count, self.failure = [], [], set(), 0, None

    def run(self):
        with contextlib.suppress(*GONE):
            while not self.failure:
                self.make()
                while len(self.there) > 3:
                    self.remove(self.there.pop(self.chance.randrange(len(self.there))))

    def ask(self, method, path, *statuses, **options):
        reply = self.server.request(method, path, **options)
        if reply.status not in statuses:
            self.failure = f"{method} {path}: {reply}"
            raise http.client.HTTPException(self.failure)

    def make(self):
        self.count += 1
        job = f"{self.name}-{self.count}"
        self.unsure.add(job)
        self.ask("POST", f"/api/v1/logs?job={quote(job)}", 200, body="".join(line + "\n" for line in self.LINES))
        self.ask("POST", f"/api/v1/jobs/{quote(job)}/transitions", 200, 201, 204, json={"SecondaryStatus": "Completed"})
        self.there.append(job)
        self.unsure.discard(job)

    def remove(self, job):
        self.unsure.add(job)
        wait_until(lambda: self.server.delete(f"/api/v1/jobs/{quote(job)}?purge=true").status in (200, 204), what=f"the deletion of {job}")
        self.unsure.discard(job)
        self.gone.append(job)

    def texts(self, job):
        reply = self.server.get(f"/api/v1/jobs/{quote(job)}")
        return [row["text"] for row in self.server.lines(job)] if reply.status == 200 else None

    def verify(self):
        for job in self.there:
            assert self.texts(job) == self.LINES and self.server.get(f"/api/v1/jobs/{quote(job)}").body["SecondaryStatus"] == "Completed", job
        for job in self.gone:
            wait_until(lambda job=job: self.texts(job) is None, what=f"the end of {job}")
        for job in self.unsure:
            assert self.texts(job) in (None, self.LINES), job
        self.gone, self.unsure = [], set()


def make_senders(server, chance):
    """All that a server is sent in these rooms."""
    return [Lines(server, chance, "s0"), Lines(server, chance, "s1"), Points(server, chance, "points"), Jobs(server, chance, "job")]


def live_and_lose(fight, ends, senders):
    """One life of the server, from its start to its loss."""
    server = fight.server
    ends.arm(int(2 ** (fight.chance.random() * 13)))
    try:
        server.start("127.0.0.1:0", *OPTIONS)
    except AssertionError:
        server.wait()
        assert ends.is_over(), server.log_text()
        ends.check_end()
    else:
        threads = [threading.Thread(target=sender.run) for sender in senders]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + LONGEST_LIFE_S
        wait_until(lambda: ends.is_over() or time.monotonic() > deadline or any(sender.failure for sender in senders), what="the loss")
        try:
            ends.check_end()
        finally:
            server.process.kill()
            for thread in threads:
                thread.join()
    server.kill()
    ends.count()
    assert not [sender.failure for sender in senders if sender.failure]


@attack("power", "each line and point once, each job whole, no damage", kind=FaultyServer)
def under_load(fight):
    server, ends, senders = fight.server, PowerLosses(fight), []
    server.makes_its_tables = True
    while fight.goes_on(6):
        if fight.tried % LIVES_OF_A_FILE == 1:
            fresh(server)
            senders = make_senders(server, fight.chance)
        live_and_lose(fight, ends, senders)
        server.start("127.0.0.1:0", *OPTIONS)
        server.wait_for_extraction()
        for sender in senders:
            sender.verify()
        server.stop()
        check(server)
    server.start()
    return ends.figure()
