"""Clients that send a byte at a time: they are ended, and nobody else waits for them."""

import contextlib
import http.client
import socket
import threading
import time

import pytest

from smserver import PATIENCE_S, wait_until


def connect(server, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", server.port), PATIENCE_S, source_address=(source, 0))


class Drip:
    """Some connections; each gets a byte more of its text, again and again, until it has ended."""

    def __init__(self, server, count, head, text):
        self.open = [connect(server) for _ in range(count)]
        for one in self.open:
            one.sendall(head)
        self.text, self.must_end = text, threading.Event()
        self.thread = threading.Thread(target=self._drip, daemon=True)
        self.thread.start()

    def _drip(self):
        for byte in self.text:
            for one in self.open:
                with contextlib.suppress(OSError):
                    one.send(bytes([byte]), socket.MSG_DONTWAIT)
            if self.must_end.wait(0.1):
                return

    def close(self):
        self.must_end.set()
        self.thread.join()
        for one in self.open:
            one.close()


HEADER = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 100000
BODY_HEAD = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"


@pytest.mark.parametrize("head, text, options", [(b"", HEADER, ["--header-timeout", "500ms"]), (HEADER[:40], HEADER[40:], ["--header-timeout", "500ms"]),
    (BODY_HEAD, b" " * 100000, ["--header-timeout", "500ms", "--min-body-rate", "200"])])
def test_who_drips_is_ended_with_a_408(make_server, head, text, options):
    server = make_server(*options)
    drip = Drip(server, 3, head, text)
    for one in drip.open:
        assert one.recv(100).startswith(b"HTTP/1.1 408 ")
        with contextlib.suppress(ConnectionResetError):
            assert one.recv(100) == b""
    drip.close()
    wait_until(lambda: server.figure("http_connections") == 1, what="the end of the slow connections")


def test_who_drips_behind_a_request_is_ended_as_well(make_server):
    server = make_server("--header-timeout", "500ms")
    drip = Drip(server, 1, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", HEADER)
    replies = b""
    with contextlib.suppress(ConnectionResetError):
        while data := drip.open[0].recv(1000):
            replies += data
    drip.close()
    assert replies.startswith(b"HTTP/1.1 200 ") and b"HTTP/1.1 408 " in replies


def test_who_is_idle_or_quick_or_follows_a_log_is_not(make_server):
    server = make_server("--header-timeout", "300ms", "--min-body-rate", "100000")
    idle, kept = connect(server), http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    kept.request("GET", "/healthz")
    assert kept.getresponse().read()
    log = connect(server)
    log.sendall(b"POST /api/v1/logs?job=j&stream=s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n")
    slow = Drip(server, 1, HEADER[:40], HEADER[40:])
    assert slow.open[0].recv(100).startswith(b"HTTP/1.1 408 ")  # so much time has passed
    slow.close()
    log.sendall(b"2\r\nb\n\r\n0\r\n\r\n")
    assert log.recv(100).startswith(b"HTTP/1.1 200 ")
    kept.request("GET", "/healthz")
    assert kept.getresponse().status == 200
    idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert idle.recv(100).startswith(b"HTTP/1.1 200 ")
    for one in (idle, log):
        one.close()


@pytest.mark.parametrize("count", [60, 1000])
def test_nobody_else_waits_for_those_who_drip(server, count):
    drip = Drip(server, count, HEADER[:60], HEADER[60:])
    times = []
    for _ in range(100):
        began = time.monotonic()
        assert server.get("/api/v1/info").status == 200
        times.append(time.monotonic() - began)
    drip.close()
    print(f"p99 beside {count}: {1000 * sorted(times)[98]:.1f} ms")
    assert sorted(times)[98] < 1


def test_one_address_has_so_many_connections_and_a_proxy_more(make_server):
    server = make_server("--max-connections-per-address", "5")
    held = [connect(server, "127.0.0.2") for _ in range(5)]
    for one in held:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 200 ")
    with connect(server, "127.0.0.2") as late, contextlib.suppress(OSError):
        late.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert late.recv(100) == b""
    assert server.figure("http_refused_connections_total") == 1
    others = [connect(server, "127.0.0.3")] + [connect(server) for _ in range(20)]  # another address, and the proxy's
    for one in others:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 200 ")
    held.pop().close()
    wait_until(lambda: can_come(server, "127.0.0.2"), what="room for one more")
    for one in held + others:
        one.close()


def can_come(server, source):
    with connect(server, source) as one, contextlib.suppress(OSError):
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return one.recv(100).startswith(b"HTTP/1.1 200 ")
