"""All streams of a job as one log: the order is a Python merge's, from every place and in both directions."""

import bisect
import json
import random
import threading
import urllib.parse

import pytest

from howlong import IS_LONG
from test_retention import end_job, wait_until_sealed
from smserver import wait_until

BASE_MS = 1_790_000_000_000


def page(server, job="j", headers=None, **parameters):
    reply = server.get(f"/api/v1/jobs/{job}/logs?" + urllib.parse.urlencode({"merge": "true", **parameters}), headers=headers)
    assert reply.status == 200, reply
    return reply.body if not headers else reply


def send(server, stream, rows, job="j"):
    body = "".join(json.dumps({"line": text, "ts": ms / 1000}) + "\n" for ms, text in rows)
    reply = server.post(f"/api/v1/logs?job={job}&stream={stream}", body, content_type="application/x-ndjson")
    assert reply.status == 200 and reply.body["accepted"] == len(rows), reply


def make_rows(dice, count, base_ms=BASE_MS):
    """Times that mostly grow, with ties, gaps and steps back."""
    rows, ms = [], base_ms + dice.randrange(1000)
    for i in range(count):
        ms += dice.choice([0, 0, 1, 3, 40, 500, -200])
        rows.append((ms, f"line {i} " + "x" * dice.randrange(100)))
    return rows


def merge(streams):
    """streams: {name: rows} in order of their ids; [(monotone ms, id, n, name, text)]."""
    out = []
    for number, (name, rows) in enumerate(streams.items()):
        latest = None
        for n, (ms, text) in enumerate(rows):
            latest = ms if latest is None else max(ms, latest)
            out.append((latest, number, n, name, text))
    return sorted(out)


def keys(lines):
    return [(line["stream"], line["n"], line["text"]) for line in lines]


def backward(server, limit, **parameters):
    lines, cursor = [], None
    while True:
        body = page(server, limit=limit, **({"cursor": cursor} if cursor else {}), **parameters)
        assert len(body["lines"]) <= limit
        lines = body["lines"] + lines
        cursor = body.get("previous_cursor")
        if not cursor:
            return lines
        assert body["lines"]


def forward(server, limit, cursor):
    lines = []
    while cursor:
        body = page(server, limit=limit, cursor=cursor)
        lines += body["lines"]
        cursor = body.get("next_cursor")
    return lines


def check(server, streams, limit, around_count=12):
    want = merge(streams)
    plain = [(name, n, text) for _, _, n, name, text in want]
    got = backward(server, limit)
    assert keys(got) == plain
    assert keys(forward(server, limit, f"n.{want[0][0] - 1}.0.0")) == plain
    dice = random.Random(9)
    times = [row[0] for row in want]
    for ms in [times[0] - 5, times[0], times[-1], times[-1] + 5] + [dice.choice(times) + dice.choice([0, 1]) for _ in range(around_count)]:
        at = bisect.bisect_left(times, ms)
        body = page(server, limit=20, around_ms=ms)
        assert keys(body["lines"]) == plain[max(at - 10, 0):at + 10]
        assert (body.get("at_stream"), body.get("at")) == (plain[at][:2] if at < len(plain) else (None, None))
        assert ("previous_cursor" in body) == (at > 10) and ("next_cursor" in body) == (at + 10 < len(plain))
        name = dice.choice(list(streams))
        latest, one = None, []
        for row_ms, _ in streams[name]:
            latest = row_ms if latest is None else max(latest, row_ms)
            one.append(latest)
        body = server.get(f"/api/v1/jobs/j/logs?stream={name}&limit=20&around_ms={ms}").body
        at = bisect.bisect_left(one, ms)
        assert body["at"] == at and [line["n"] for line in body["lines"]] == list(range(len(one)))[max(at - 10, 0):max(at - 10, 0) + 20]


def test_merged_pages_unsealed_sealed_and_half_of_each(make_server):
    server = make_server("--seal-age", "1h", "--seal-bytes", "1GiB")
    dice = random.Random(1)
    streams = {f"algo-{i}": make_rows(dice, 400) for i in range(7)}
    for name, rows in streams.items():
        send(server, name, rows[:150])
    for name, rows in streams.items():
        send(server, name, rows[150:250])
    check(server, {name: rows[:250] for name, rows in streams.items()}, 300)
    server.restart()
    check(server, {name: rows[:250] for name, rows in streams.items()}, 300)
    for name, rows in list(streams.items())[:5]:
        send(server, name, rows[250:])
    check(server, {name: rows if i < 5 else rows[:250] for i, (name, rows) in enumerate(streams.items())}, 301)


def test_300_streams_of_many_blocks(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "1MiB")
    dice = random.Random(2)
    streams = {f"rank-{i}": make_rows(dice, 60) for i in range(300)}
    for at in (0, 20, 40):
        for name, rows in streams.items():
            send(server, name, rows[at:at + 20])
    check(server, streams, 1000)
    server.restart()
    check(server, streams, 1000)


def test_one_stream_of_many_blocks_and_a_wild_time(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    dice = random.Random(4)
    rows = [(BASE_MS + i, f"{i} {dice.random()} " + "y" * 400) for i in range(9000)]
    rows[4000] = (BASE_MS + 6000, rows[4000][1])
    streams = {"a": rows, "b": make_rows(dice, 50)}
    for at in range(0, 9000, 1500):
        send(server, "a", rows[at:at + 1500])
    send(server, "b", streams["b"])
    check(server, streams, 1000)
    server.restart()
    check(server, streams, 1000)


def test_some_streams_merged(make_server):
    server = make_server("--seal-age", "1h", "--seal-bytes", "1GiB")
    dice = random.Random(7)
    streams = {name: make_rows(dice, 200) for name in ("a", "b,c", "d", "e")}
    for name, rows in streams.items():
        reply = server.post("/api/v1/logs?" + urllib.parse.urlencode({"job": "j", "stream": name}),
                            "".join(json.dumps({"line": text, "ts": ms / 1000}) + "\n" for ms, text in rows), content_type="application/x-ndjson")
        assert reply.status == 200, reply
    some = ["a", "b,c", "e"]
    names = ",".join(urllib.parse.quote(name, safe="") for name in some)
    for _ in range(2):
        want = [(name, n, text) for _, _, n, name, text in merge(streams) if name in some]
        assert keys(backward(server, 70, streams=names)) == want
        server.restart()
    assert len({line["stream"] for line in page(server, streams="", limit=1000)["lines"]}) == 4
    reply = server.get("/api/v1/jobs/j/logs?merge=true&streams=a,none")
    assert reply.status == 404 and reply.body["field"] == "streams" and "'none'" in reply.body["detail"]
    many = ",".join(["a"] * 257)
    assert server.get(f"/api/v1/jobs/j/logs?merge=true&limit=1&streams={many[2:]}").status == 200
    assert server.get(f"/api/v1/jobs/j/logs?merge=true&limit=1&streams={many}").body["field"] == "streams"


def test_no_line_is_missing_while_lines_come_and_are_sealed(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    stop = threading.Event()
    counts = {f"s{i}": 0 for i in range(4)}

    def feed(name):
        while not stop.is_set():
            send(server, name, [(BASE_MS + (counts[name] + i) * 3, f"{counts[name] + i}") for i in range(200)])
            counts[name] += 200

    for name in counts:
        send(server, name, [(BASE_MS, "0")])
        counts[name] = 1
    feeders = [threading.Thread(target=feed, args=(name,)) for name in counts]
    for feeder in feeders:
        feeder.start()
    try:
        for _ in range(40 if IS_LONG else 12):
            least = dict(counts)
            lines = page(server, limit=1000, around_ms=BASE_MS + min(least.values()) * 2)["lines"]
            for name in counts:
                numbers = [line["n"] for line in lines if line["stream"] == name]
                assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), name
            newest = page(server, limit=1000)["lines"]
            assert max(line["n"] for line in newest) + 1 >= max(least.values())
    finally:
        stop.set()
        for feeder in feeders:
            feeder.join()


def test_a_merged_page_is_bounded_and_comes_as_ndjson(make_server):
    server = make_server("--max-reply-bytes", "8KiB")
    streams = {f"s{i}": [(BASE_MS + n * 10 + i, f"{n} " + "\x01" * 60) for n in range(100)] for i in range(3)}
    for name, rows in streams.items():
        send(server, name, rows)
    plain = [(name, n, text) for _, _, n, name, text in merge(streams)]
    assert keys(backward(server, 1000)) == plain
    assert keys(forward(server, 1000, f"n.{BASE_MS - 1}.0.0")) == plain
    around = server.get(f"/api/v1/jobs/j/logs?merge=true&limit=1000&around_ms={BASE_MS + 505}")
    assert len(around.raw) <= 8192 and (around.body["at_stream"], around.body["at"]) in [key[:2] for key in keys(around.body["lines"])]
    cursor, lines = None, []
    while True:
        reply = page(server, headers={"Accept": "application/x-ndjson"}, limit=1000, **({"cursor": cursor} if cursor else {}))
        assert len(reply.raw) <= 8192
        lines = [json.loads(line) for line in reply.raw.splitlines()] + lines
        cursor = reply.headers.get("X-Previous-Cursor")
        if not cursor:
            break
    assert keys(lines) == plain


def test_deleted_text_is_skipped(make_server):
    server = make_server("--seal-age", "100ms", "--log-bytes", "0")
    rows = [(BASE_MS + i, f"{i} " + "z" * 100) for i in range(40_000)]
    send(server, "a", rows)
    send(server, "b", rows[:10])
    end_job(server, "j", 2)
    wait_until_sealed(server, ["j"])
    assert server.request("PATCH", "/api/v1/jobs/j", json={"retention": {"max_bytes": 2 << 20}}).status == 200
    wait_until(lambda: server.get("/api/v1/jobs/j/logs?stream=a&from=0").status == 410, what="the oldest text to go")
    kept = server.get("/api/v1/jobs/j/logs?stream=a&from=0").body["first_kept_line"]
    lines = page(server, limit=1000, cursor="n.0.0.0")["lines"]
    assert next(line["n"] for line in lines if line["stream"] == "a") == kept


@pytest.mark.parametrize("query, field", [
    ("merge=true&from=3", "from"), ("streams=a", "streams"), ("merge=true&stream=a", "stream"), ("cursor=n.1.1.1", "cursor"), ("merge=true&cursor=x", "cursor"),
    ("merge=true&cursor=n.1.4294967296.1", "cursor"), ("merge=true&cursor=q.1.1.1", "cursor"), ("from=1&around_ms=5", "around_ms"),
    ("merge=true&cursor=n.1.1.1&around_ms=5", "around_ms"), ("merge=true&limit=1001", "limit"), ("merge=maybe", "merge"), ("around_ms=x", "around_ms"),
])
def test_what_does_not_fit_is_named(shared_server, query, field):
    shared_server.send("j", ["a"], stream="a")
    reply = shared_server.get("/api/v1/jobs/j/logs?" + query)
    assert reply.status == 400 and reply.body["field"] == field, reply


def test_edges(server):
    assert server.get("/api/v1/jobs/none/logs?merge=true").status == 404
    server.send("j", ["a", "b"], stream="a")
    assert page(server, limit=1000)["lines"][0]["n"] == 0
    for cursor in (f"n.{2**63 - 1}.{2**32 - 1}.{2**64 - 1}", f"p.{-2**63}.0.0"):
        assert page(server, cursor=cursor)["lines"] == []
    assert page(server, around_ms=2**63 - 1)["lines"] and page(server, around_ms=-2**63 + 1)["lines"]
