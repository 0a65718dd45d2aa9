"""One job of 2048 streams and 16,384 rank tags: all senders connected at once, and what a reader then asks for.

Times are printed, and held against limits that also the slow build of the tests keeps (the release build's are far below).
"""

import asyncio
import resource
import time
import urllib.parse

import pytest

from smserver import wait_until

STREAMS, RANKS, STEPS = 2048, 8, 3
CONNECT_S, PAGE_S = 10.0, 3.0
DEFINITION = {"Name": "loss", "Regex": r"step (?<step>\d+) loss=(?<value>\S+)"}


@pytest.fixture
def descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < STREAMS + 256:
        pytest.skip(f"this machine gives a process {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, STREAMS + 256), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def lines_of(node):
    """Each of the node's ranks at each step, as torchrun prefixes them."""
    return [f"[rank{node * RANKS + rank}]: step {step} loss={1 + rank / 100 + node / 1e6:.6f}" for step in range(STEPS) for rank in range(RANKS)]


def chunk(text):
    return f"{len(text):x}\r\n".encode() + text + b"\r\n"


class Senders:
    """An endless upload a node, as `python train.py | curl -T -`: they stay open."""

    def __init__(self, port):
        self.port, self.open = port, []

    async def connect(self, node):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"PUT /api/v1/logs?job=big&stream=algo-{node + 1}&host=node{node:04} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            + chunk("".join(f"{line}\n" for line in lines_of(node)).encode()))
        await writer.drain()
        self.open.append((reader, writer))

    async def end(self, reader, writer):
        writer.write(b"0\r\n\r\n")
        head = await reader.readuntil(b"\r\n")
        writer.close()
        return int(head.split()[1])

    async def run(self, meanwhile):
        start = time.monotonic()
        await asyncio.gather(*(self.connect(node) for node in range(STREAMS)))
        connected_s = time.monotonic() - start
        await asyncio.to_thread(meanwhile)
        statuses = await asyncio.gather(*(self.end(*one) for one in self.open))
        return connected_s, statuses


def test_2048_senders_at_once(make_server, descriptors, request):
    server = make_server("--seal-age", "24h")
    server.post("/api/v1/jobs", json={"TrainingJobName": "big", "AlgorithmSpecification": {"MetricDefinitions": [DEFINITION]}})
    figures = {}
    senders = Senders(server.port)

    def all_is_there():
        start = time.monotonic()
        wait_until(lambda: server.figure("lines_total") >= STREAMS * RANKS * STEPS, what="all lines, while all are connected", timeout=60)
        figures["all lines stored, all connected"] = time.monotonic() - start
        assert server.figure("http_connections") >= STREAMS

    figures["2048 senders connected, lines sent"], statuses = asyncio.run(senders.run(all_is_there))
    assert set(statuses) == {200}

    def ask(what, path, check):
        start = time.monotonic()
        reply = server.get(path)
        figures[what] = time.monotonic() - start
        assert reply.status == 200 and check(reply.body), (what, reply)

    def derived():
        return server.figure("points_total") >= STREAMS * RANKS * STEPS
    wait_until(derived, what="all points", timeout=60)
    ask("node list (streams)", "/api/v1/jobs/big/streams", lambda body: len({row["host"] for row in body["streams"]}) == STREAMS
        and {row["lines"] for row in body["streams"]} == {RANKS * STEPS})
    ask("merged view, first page", "/api/v1/jobs/big/logs?merge=true&limit=200", lambda body: len(body["lines"]) == 200)
    around = server.get("/api/v1/jobs/big").body["CreationTime"] * 1000
    ask("merged view, by time", f"/api/v1/jobs/big/logs?merge=true&limit=200&around_ms={int(around) + 1000}", lambda body: body["lines"])
    ask("series list (16,384 rank tags)", "/api/v1/jobs/big/metrics",
        # the first rank that a stream names is the bare series
        lambda body: len({(row["stream"], row["metric"]) for row in body["series"] if row["metric"].startswith("loss")}) == STREAMS * RANKS)
    ask("chart folded over all", "/api/v1/jobs/big/points?metric=loss", lambda body: body["total_points"] == STREAMS * RANKS * STEPS)
    last = urllib.parse.quote(f'loss{{rank="{STREAMS * RANKS - 1}"}}')
    ask("chart of the last rank", f"/api/v1/jobs/big/points?metric={last}&stream=algo-{STREAMS}", lambda body: body["total_points"] == STEPS)
    ask("search in all streams", "/api/v1/jobs/big/logs/search?q=rank16383", lambda body: body["total"] == STEPS)

    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("".join(f"\n{name:40} {seconds:8.3f} s" for name, seconds in figures.items()))
    assert figures["2048 senders connected, lines sent"] <= CONNECT_S
    assert all(seconds <= PAGE_S for name, seconds in figures.items() if "connected" not in name), figures
