"""Clients that take their time: whoever drips a header, a handshake or a body, or keeps connections, keeps nobody else waiting."""

import contextlib
import socket
import time

from attack import attack
from smserver import wait_until

HEAD = b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
DRIPS = {
    "first line": (b"", b"GET /" + b"a" * 100000),
    "one header": (HEAD, b"X-Long: " + b"a" * 100000),
    "headers": (HEAD, b"A: b\r\n" * 20000),
    "empty lines": (b"", b"\r\n" * 50000),
    "blanks": (HEAD + b"X:", b" " * 100000),
    "a body": (POST + b"Content-Length: 100000\r\n\r\n", b" " * 100000),
    "a chunk": (POST + b"Transfer-Encoding: chunked\r\n\r\nffff\r\n", b" " * 100000),
    "chunks": (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 20000),
    "a chunk's size": (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 100000),
    "a chunk's extension": (POST + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 100000),
    "trailers": (POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n", b"A: b\r\n" * 20000),
    "requests whose reply nobody reads": (b"", (HEAD + b"\r\n") * 2000),
}


def drip(connections, text, at, pace):
    for one in connections:
        with contextlib.suppress(OSError):
            one.send(text[at:at + pace], socket.MSG_DONTWAIT)


@attack("slow", "p99 of others < 0.5 s; each is ended in time", "--header-timeout", "1s", "--min-body-rate", "200", "--idle-timeout", "3s")
def sixty_that_drip(fight):
    worst, ways = 0, list(DRIPS)
    while fight.goes_on(len(ways)):
        way = ways[(fight.tried - 1 + fight.seed) % len(ways)]
        head, text = DRIPS[way]
        held = [fight.connect(timeout=30) for _ in range(60)]
        for one in held:
            one.sendall(head)
        times, began, at = [], time.monotonic(), 0
        while len(times) < 40 or (time.monotonic() - began < 12 and fight.server.figure("http_connections") > 3):
            if time.monotonic() - began > at * 0.1:
                drip(held, text, at, 1)
                at += 1
            asked = time.monotonic()
            assert fight.server.get("/api/v1/info").status == 200
            times.append(time.monotonic() - asked)
        left = fight.server.figure("http_connections")
        for one in held:
            one.close()
        assert left <= 3, (way, f"{left} connections are there after {time.monotonic() - began:.0f} s")
        worst = max(worst, sorted(times)[int(len(times) * 0.99) - 1])
    assert worst < 0.5, f"p99 {worst:.2f} s"
    return f"p99 of others {1000 * worst:.0f} ms beside 60 that drip, {fight.tried - 1} ways"


@attack("slow", "one address has its limit, others go on", "--max-connections-per-address", "50", "--proxies", "127.0.0.1")
def connections_of_one_address(fight):
    while fight.goes_on(1):
        held = []
        for _ in range(200):
            held.append(fight.connect("127.0.0.9"))
        answered = 0
        for one in held:
            with contextlib.suppress(OSError):
                one.settimeout(5)
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answered += one.recv(100).startswith(b"HTTP/1.1 200")
        assert 50 <= answered <= 54, answered  # each I/O thread may let one in at the same moment
        assert fight.server.get("/healthz").status == 200
        with fight.connect("127.0.0.10") as other:
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert other.recv(100).startswith(b"HTTP/1.1 200")
        for one in held:
            one.close()
        wait_until(lambda: fight.server.figure("http_connections") <= 2, what="the end of all")
