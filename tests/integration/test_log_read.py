"""Reading log text: pages by number, the bytes as they came; the same whether lines are sealed or not."""

import json
import os
import pathlib
import random
import threading
import urllib.parse
import urllib.request

import pytest

from howlong import long
from test_damage import DAMAGES, damage_one
from test_retention import end_job, wait_until_sealed
from smserver import wait_until

NDJSON = {"Accept": "application/x-ndjson"}


def page(server, job, headers=None, **parameters):
    return server.get(f"/api/v1/jobs/{job}/logs?" + urllib.parse.urlencode(parameters), headers=headers)


def raw(server, job, **parameters):
    url = f"{server.url}/api/v1/jobs/{job}/logs/raw?" + urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(url, timeout=60) as reply:
        return reply.headers, reply.read()


def post(server, job, stream, body):
    reply = server.post(f"/api/v1/logs?job={job}&stream={stream}", body, content_type="text/plain")
    assert reply.status == 200, reply


def rss_bytes(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def test_ndjson_holds_the_same_lines_and_says_where_to_go_on(server):
    server.send("j", [f"line {i} \"quoted\" é" for i in range(10)])
    whole = page(server, "j", **{"from": 2, "limit": 3}).body
    assert [line["n"] for line in whole["lines"]] == [2, 3, 4] and whole["next_from"] == 5 and whole["total"] == 10
    reply = page(server, "j", headers=NDJSON, **{"from": 2, "limit": 3})
    assert [json.loads(line) for line in reply.raw.decode().splitlines()] == whole["lines"]
    assert reply.headers["X-Next-From"] == "5" and reply.headers["X-Total"] == "10"
    last = page(server, "j", **{"from": 5, "limit": 5}).body
    assert len(last["lines"]) == 5 and "next_from" not in last


def test_a_page_is_bounded_in_bytes(make_server):
    server = make_server("--max-reply-bytes", "4KiB")
    texts = [f"{i} " + "\x01\"" * 40 for i in range(200)]
    server.send("j", texts)
    for headers in (None, NDJSON):
        got, start = [], 0
        while start is not None:
            reply = page(server, "j", headers=headers, **{"from": start, "limit": 1000})
            assert len(reply.raw) <= 4096
            if headers:
                lines, following = [json.loads(x) for x in reply.raw.splitlines()], reply.headers.get("X-Next-From")
            else:
                lines, following = reply.body["lines"], reply.body.get("next_from")
            assert lines
            got += [line["text"] for line in lines]
            start = None if following is None else int(following)
        assert got == texts
    newest = page(server, "j", limit=1000).body
    assert newest["lines"][-1]["n"] == 199 and 1 <= len(newest["lines"]) < 200
    server.send("j", ["x" * 10000, "y" * 10000], stream="wide")
    wide = page(server, "j", stream="wide", **{"from": 0}).body
    assert [line["text"] for line in wide["lines"]] == ["x" * 10000] and wide["next_from"] == 1


def test_the_bytes_as_they_came(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    dice = random.Random(7)
    body = b"".join(bytes(dice.choice(b"abc \t\xc3\xff{}\r") for _ in range(dice.randrange(0, 120))) + b"\n" for _ in range(6000))
    body += b"the end has no newline"
    post(server, "j%2Fx", "a%22b", body)
    headers, got = raw(server, "j%2Fx", stream='a"b')
    assert got == body
    assert headers["Content-Disposition"] == 'attachment; filename="j_x-a_b.log"' and headers["X-First-Line"] == "0"
    server.restart()
    assert raw(server, "j%2Fx", stream='a"b')[1] == body
    lines = body.split(b"\n")
    assert raw(server, "j%2Fx", stream='a"b', **{"from": 10, "limit": 5})[1] == b"".join(x + b"\n" for x in lines[10:15])
    assert raw(server, "j%2Fx", stream='a"b', **{"from": 6000})[1] == lines[-1]
    assert raw(server, "j%2Fx", stream='a"b', **{"from": 99999})[1] == b""


@long
def test_raw_of_a_large_stream_takes_constant_memory(make_server):
    server = make_server("--seal-age", "100ms",
        environment={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=2:exitcode=99"}) # what is freed must not count
    dice = random.Random(3)
    chunk = [f"{dice.random()} step {i} loss {dice.random()}" for i in range(20000)]
    body = ("\n".join(chunk) + "\n").encode()
    for _ in range(40):
        post(server, "big", "s", body)
    assert len(body) * 40 > 32 << 20
    server.restart()
    assert raw(server, "big", stream="s")[1] == body * 40
    wait_until(lambda: [row for row in server.get("/api/v1/jobs/big/streams").body["streams"] if row["extracted_lines"] == 800_000],
        what="what a restart has to read again")
    before = rss_bytes(server)
    assert raw(server, "big", stream="s")[1] == body * 40
    assert rss_bytes(server) - before < 16 << 20 # half of what it is


def test_raw_beside_ingest_is_a_prefix_of_what_was_sent(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    stop, sent = threading.Event(), []

    def feed():
        while not stop.is_set():
            lines = [f"line {len(sent) + i}" for i in range(500)]
            server.send("j", lines, stream="s")
            sent.extend(lines)

    server.send("j", ["line 0"], stream="s")
    sent.append("line 0")
    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        for _ in range(30):
            least = len(sent)
            got = raw(server, "j", stream="s")[1].decode().splitlines()
            assert len(got) >= least and got == [f"line {i}" for i in range(len(got))]
    finally:
        stop.set()
        feeder.join()


@pytest.mark.parametrize("how", DAMAGES)
def test_raw_goes_on_behind_damage(make_server, how):
    server = make_server("--seal-age", "100ms")
    lines = [f"line {i} {'x' * 100}" for i in range(20000)]
    server.send("j", lines[:10000])
    server.restart()
    server.send("j", lines[10000:])
    server.stop()
    damage_one(server, "blocks", "data", "WHERE first_line = 0", how)
    server.start()
    got = raw(server, "j")[1].decode().splitlines()
    last = int(got[0].split(" to ")[1].split()[0])
    assert got[0] == f"[smfleet: lines 0 to {last} are damaged]" and got[1:] == lines[last + 1:] and last < 19999


def test_raw_starts_behind_what_was_deleted(make_server):
    server = make_server("--seal-age", "100ms", "--log-bytes", "0")
    lines = [f"line {i} {'x' * 100}" for i in range(40000)]
    server.send("j", lines)
    end_job(server, "j", 2)
    wait_until_sealed(server, ["j"])
    assert server.request("PATCH", "/api/v1/jobs/j", json={"retention": {"max_bytes": 2 << 20}}).status == 200
    wait_until(lambda: raw(server, "j")[0]["X-First-Line"] != "0", what="the oldest text to go")
    headers, got = raw(server, "j")
    assert got.decode().splitlines() == lines[int(headers["X-First-Line"]):]


def test_raw_refuses_what_is_not_there(server):
    server.send("j", ["a"])
    assert server.get("/api/v1/jobs/none/logs/raw").status == 404
    for path in ("logs", "logs/raw"): # an empty stream is none that is named: the job is looked for, and its first stream read
        assert server.get(f"/api/v1/jobs/none/{path}?stream=").status == 404
        assert server.get(f"/api/v1/jobs/j/{path}?stream=").body == server.get(f"/api/v1/jobs/j/{path}").body
    assert server.get("/api/v1/jobs/j/logs/raw?stream=none").status == 404
    reply = server.get("/api/v1/jobs/j/logs/raw?limit=0")
    assert reply.status == 400 and reply.body["field"] == "limit"
    assert server.get("/api/v1/jobs/j/logs/raw?limit=1").raw == b"a\n"
