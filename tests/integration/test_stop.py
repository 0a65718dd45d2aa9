"""SIGTERM: quick, in order, and nothing that was acknowledged is missing."""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import sqlite3
import threading
import time

import pytest
from engine import of_a_file
from smserver import PATIENCE_S, wait_until


def keep_sending(port, stream, acknowledged, is_running):
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        number = 0
        while True:
            body = "".join(f"{number + i} {'x' * 80}\n" for i in range(50))
            connection.request("POST", f"/api/v1/logs?job=j&stream={stream}", body=body, headers={"Content-Type": "text/plain"})
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                assert response.status in (429, 503)
                return
            number += 50
            acknowledged[stream] = number
            is_running.set()


@of_a_file("another program has the file")
def test_a_start_that_waits_for_the_file_is_stopped_as_any(server):
    """Whoever closes the database last lets nobody in meanwhile: it is waited for, and not beyond a SIGTERM."""
    server.stop()
    other = sqlite3.connect(server.database, isolation_level=None)
    try:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        server.launch()
        mine = f"{server.process.pid}\n"
        wait_until(lambda: pathlib.Path(f"{server.database}.lock").read_text() == mine, what="the server that has the name, and no file")
        server.signal(signal.SIGHUP)  # no reason to give up
        server.signal(signal.SIGTERM)
        assert server.wait() == 0 and "locked by another program" not in server.log_text(), server.log_text()
    finally:
        other.close()
    server.start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_under_load(server, number):
    acknowledged, running = {}, [threading.Event() for _ in range(4)]
    senders = [threading.Thread(target=keep_sending, args=(server.port, f"algo-{i}", acknowledged, running[i])) for i in range(4)]
    for sender in senders:
        sender.start()
    for event in running:
        assert event.wait(PATIENCE_S)
    subscribers = [server.live("jobs=j&kinds=points,lines") for _ in range(5)]
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
    endless = socket.create_connection(("127.0.0.1", server.port))
    endless.sendall(b"POST /api/v1/logs?job=j&stream=endless HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nopen\n\r\n")

    began = time.monotonic()
    server.signal(number)
    code = server.wait()
    took = time.monotonic() - began
    server.process = None
    for sender in senders:
        sender.join(PATIENCE_S)
    for connection in (*idle, endless):
        connection.close()
    for subscriber in subscribers:
        subscriber.wait_for_end()
    server.assert_clean()
    assert code == 0, server.log_text()
    assert took < 5, f"the stop took {took:.1f} s"

    server.start()
    for stream, count in acknowledged.items():
        numbers = [int(line["text"].split()[0]) for line in server.lines("j", stream)]
        assert numbers == list(range(len(numbers)))
        assert count <= len(numbers) <= count + 50


def test_idle_server_stops_at_once(server):
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 3


def test_a_stop_comes_after_the_ranking_of_all(make_server):
    """More than a round of it ranks: what is left would be ranked with its next point, and this was the last one. It is what
    a server with sanitizers ranks in two rounds or more, and this file is of those that have them."""
    server = make_server("--stop-timeout", "4m")
    series = [{"metric": f"m{n}", "step": [1, 2], "value": [1.5, 2]} for n in range(900)]
    assert server.post("/api/v1/points?job=j", json={"series": series}).status == 200
    server.wait_for_extraction()
    server.restart(keep_port=False)
    metrics = server.get("/api/v1/jobs/j").body["metrics"]
    assert len(metrics) == 900 and [row["metric"] for row in metrics if "final" not in row] == []


@of_a_file("what is beside it")
def test_nothing_is_left_beside_the_database(server):
    server.send("j", "x")
    server.stop()
    left = sorted(path.name for path in server.folder.iterdir() if path.is_file())
    assert "smfleet.db" in left
    assert set(left) <= {"smfleet.db", "smfleet.db.key", "smfleet.db.lock"}, left # no WAL, no socket


def test_readiness_and_liveness(server):
    assert server.get("/healthz").status == 200
    assert server.get("/readyz").status == 200
    info = server.get("/api/v1/info").body
    assert info["version"] and info["demo"] is False


def test_metrics_are_prometheus_text(server):
    server.send("j", ["step: 1 loss: 2.0"] * 7)
    server.wait_for_points("j", "train:loss", 7)
    reply = server.get("/metrics")
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/plain")
    samples = {}
    for line in reply.raw.decode().splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            samples[name] = float(value)
    assert any(name.startswith("smfleet_") and "lines" in name and value == 7 for name, value in samples.items()), samples


def test_start_is_quick_with_data(server):
    for _ in range(10):
        server.send("j", [f"step: {n} loss: 2.0" for n in range(1000)])
    server.restart()
    assert server.get("/api/v1/jobs/j/logs?stream=algo-1&limit=1").body["total"] == 10_000


def test_openapi_describes_the_server(server):
    document = server.get("/api/v1/openapi.json").body
    assert document["openapi"].startswith("3.1")
    for path in ("/api/v1/logs", "/api/v1/jobs", "/api/v1/jobs/{job}/points", "/api/v1/live", "/api/v1/webhooks"):
        assert path in document["paths"], path
    names = {parameter["name"] for parameter in document["paths"]["/api/v1/logs"]["post"]["parameters"]}
    assert {"job", "stream", "offset"} <= names
    json.dumps(document)
