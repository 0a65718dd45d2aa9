"""Replies that are made piece by piece: whole, or visibly not."""

import contextlib
import http.client
import re
import socket
import threading

import pytest
from smserver import PATIENCE_S, wait_until

RAW = "/api/v1/jobs/long/logs/raw?stream=algo-1"


def fill(server, megabytes):
    """Long lines: much to send, little to store."""
    lines = [f"{i:06d} " + chr(97 + i % 26) * 60_000 for i in range(megabytes * 17)]
    server.send("long", lines)
    return "".join(line + "\n" for line in lines)


def test_a_reply_whose_next_piece_finds_the_queue_full_waits_its_turn(make_server):
    server = make_server("--workers", "1", "--max-pending", "1")
    text = fill(server, 6)
    is_over, statuses = threading.Event(), []

    def search():
        while not is_over.is_set():
            with contextlib.suppress(OSError):
                statuses.append(server.get("/api/v1/jobs?q=long").status)

    searchers = [threading.Thread(target=search) for _ in range(6)]
    for thread in searchers:
        thread.start()
    try:
        wait_until(lambda: 429 in statuses, what="a full queue")
        refused = statuses.count(429)
        # the first piece may be refused like any request, and says so; what has begun goes on
        reply = wait_until(lambda: (lambda got: got if got.status == 200 else None)(server.get(RAW)), what="the log")
        assert reply.body == text
        wait_until(lambda: statuses.count(429) > refused, what="a queue that is still full")
    finally:
        is_over.set()
        for thread in searchers:
            thread.join()
    assert server.figure("http_cut_replies_total") == 0


@pytest.mark.parametrize("head", ["HTTP/1.1", "HTTP/1.1\r\nConnection: close", "HTTP/1.0"])
def test_a_reply_that_must_end_early_is_seen_to_be_cut(make_server, head):
    """HTTP/1.0 (many a proxy's default) ends a body with the connection: it must break, not close."""
    server = make_server()
    text = fill(server, 12)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        connection.settimeout(PATIENCE_S)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(f"GET {RAW} {head}\r\nHost: localhost\r\n\r\n".encode())
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 200
        server.stop()
        with pytest.raises(ConnectionResetError if head == "HTTP/1.0" else http.client.IncompleteRead):
            response.read()
    assert len(text) > 12_000_000 and len(re.findall("reply_cut.*stopping", server.log_text())) == 1
