"""Writers at one database with several servers, each line of their own told from every other: what was acknowledged is compared with what is
stored, however often a server or the database went away in between. Standard library only."""

import http.client
import json
import threading
import time

from smserver import PATIENCE_S, quote, wait_until

LINES = 10  # a request
ANSWER_S = 3  # a server that is stopped takes connections, and never answers
PACE_S = 0.01
AGAIN_S = 0.05


class Writer(threading.Thread):
    """One stream. Each request is sent until it is acknowledged, by its place in the stream; or once and no more, without a place."""

    def __init__(self, load, number, insists):
        super().__init__(daemon=True)
        self.load, self.number, self.insists = load, number, insists
        self.stream = f"w-{number}"
        self.at, self.offset, self.sent = number % len(load.ports), 0, 0
        self.acknowledged = []  # numbers of requests
        self.statuses, self.said, self.failure, self.connection = {}, None, None, None

    def body(self, request):
        return "".join(f"{self.stream} request {request} line {line}\n" for line in range(LINES)).encode()

    def try_once(self, body):
        """The status; 0: no answer. The next server is asked the next time."""
        place = f"&offset={self.offset}" if self.insists else ""
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.load.ports[self.at], timeout=ANSWER_S)
            self.connection.request("POST", f"/api/v1/logs?job={quote(self.load.job)}&stream={self.stream}{place}", body, self.load.headers)
            reply = self.connection.getresponse()
            said, status, after = reply.read(), reply.status, reply.headers.get("Retry-After")
            if status != 200:
                assert status in (429, 503, *self.load.gateway) and int(after) > 0, f"{self.stream}: {status}, Retry-After {after}: {said}"
                self.said = json.loads(said)["detail"]
        except (OSError, http.client.HTTPException):
            status = 0
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status != 200:
            if self.connection:
                self.connection.close()
            self.connection = None
            self.at = (self.at + 1) % len(self.load.ports)
        return status

    def run(self):
        try:
            while not self.load.is_over.is_set():
                self.send(self.sent)
                self.load.is_over.wait(self.load.pace_s)
        except AssertionError as failure:  # told by the thread that waits
            self.failure = failure

    def send(self, request):
        body = self.body(request)
        self.sent += 1
        while self.try_once(body) != 200:
            if not self.insists or self.load.gives_up.wait(AGAIN_S):
                return
        self.acknowledged.append(request)
        self.offset += len(body)
        self.load.note_success()


class Load:
    """with Load(servers) as load: …, load.check(server). Their ports may change, their number does not."""

    def __init__(self, servers, job="load", writers=6, pace_s=PACE_S, token=None, gateway=()):
        """gateway: what a balancer answers when its server went away meanwhile."""
        self.job, self.ports, self.pace_s = job, [server.port for server in servers], pace_s
        self.headers = {"Content-Type": "text/plain", **({"Authorization": f"Bearer {token}"} if token else {})}
        self.gateway = gateway
        self.is_over, self.gives_up, self.lock = threading.Event(), threading.Event(), threading.Lock()
        self.last = self.gap_from = time.monotonic()
        self.longest_gap = 0.0
        self.writers = [Writer(self, number, number % 2 == 0) for number in range(writers)]

    def __enter__(self):
        for writer in self.writers:
            writer.start()
        self.wait_for_more()
        return self

    def __exit__(self, kind, *_):
        self.gives_up.set()
        self.is_over.set()
        for writer in self.writers:
            writer.join(PATIENCE_S)

    def note_success(self):
        with self.lock:
            now = time.monotonic()
            self.longest_gap = max(self.longest_gap, now - max(self.last, self.gap_from))
            self.last = now

    def acknowledged(self):
        return sum(len(writer.acknowledged) for writer in self.writers)

    def statuses(self):
        return {status: sum(writer.statuses.get(status, 0) for writer in self.writers) for status in sorted({s for w in self.writers for s in w.statuses})}

    def measure(self):
        """From now on longest_gap is that between two acknowledgements, of whoever."""
        with self.lock:
            self.longest_gap, self.gap_from = 0.0, time.monotonic()

    def wait_for_more(self, count=5, patience=PATIENCE_S):
        """Each writer has so many acknowledgements more."""
        before = [len(writer.acknowledged) for writer in self.writers]

        def has_more():
            for writer in self.writers:
                if writer.failure:
                    raise RuntimeError("a writer failed") from writer.failure
            return all(len(writer.acknowledged) >= had + count for writer, had in zip(self.writers, before))
        wait_until(has_more, timeout=patience, what=f"acknowledgements of all writers; {self.statuses()}")

    def wait_for_refusals(self):
        """Each writer heard 503, or of nobody, once more."""
        before = [sum(writer.statuses.values()) - writer.statuses.get(200, 0) for writer in self.writers]
        wait_until(lambda: all(sum(writer.statuses.values()) - writer.statuses.get(200, 0) > had for writer, had in zip(self.writers, before)),
            what="refusals")

    def problems(self):
        """What 503 said last, without repeats."""
        return sorted({writer.said for writer in self.writers if writer.said})

    def end(self):
        """Those that insist get their last acknowledgement."""
        self.is_over.set()
        for writer in self.writers:
            writer.join(PATIENCE_S)
            assert not writer.is_alive(), f"{writer.stream} waits for its acknowledgement; {writer.statuses}"
            if writer.failure:
                raise writer.failure

    def check(self, server):
        """
        Nothing acknowledged is lost, nothing is there twice, and what was insisted on is in order. Returns the counts of lines: acknowledged, stored, and of the stored
        those whose sender heard nothing.
        """
        self.end()
        acknowledged = stored = unheard = 0
        for writer in self.writers:
            texts = [row["text"] for row in server.lines(self.job, writer.stream)]
            requests = [int(text.split()[2]) for text in texts[::LINES]]
            expected = "".join(writer.body(request).decode() for request in requests).splitlines()
            assert texts == expected, f"{writer.stream}: requests in part, or mixed"
            # What its sender gave up may come later than what it sent next, but not twice.
            assert len(requests) == len(set(requests)), f"{writer.stream}: {len(requests) - len(set(requests))} requests are there twice"
            lost = sorted(set(writer.acknowledged) - set(requests))
            assert not lost, f"{writer.stream}: {len(lost)} acknowledged requests are lost: {lost[:20]}"
            assert max(requests) < writer.sent
            if writer.insists:
                assert requests == writer.acknowledged, f"{writer.stream}: what was never acknowledged is there"
            acknowledged += len(writer.acknowledged) * LINES
            stored += len(texts)
            unheard += (len(requests) - len(writer.acknowledged)) * LINES
        assert stored == acknowledged + unheard
        return {"acknowledged": acknowledged, "stored": stored, "unheard": unheard}
