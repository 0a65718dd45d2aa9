"""Log search: every matching line once, in a stable order, whether it is sealed or not."""

import json
import random
import re
import threading
import urllib.parse

import pytest

from howlong import IS_LONG
from smserver import wait_until

WORDS = "alpha beta gamma delta WARN error timeout NCCL step loss 1.25 0.5 884187 iteration".split()


def search(server, job, q, **parameters):
    return server.get(f"/api/v1/jobs/{job}/logs/search?" + urllib.parse.urlencode({**({"q": q} if q else {}), **parameters}))


def found(server, job, q, **parameters):
    """All pages behind each other."""
    hits, cursor = [], None
    while True:
        reply = search(server, job, q, **parameters, **({"cursor": cursor} if cursor else {}))
        assert reply.status == 200, reply
        if is_cut_short(reply.body):
            continue
        hits += reply.body["hits"]
        cursor = reply.body.get("next_cursor")
        if not cursor:
            return hits


def is_cut_short(body):
    """Among unsealed lines there is no place to go on from: the same is asked again, as people would."""
    return body.get("partial", False) and "next_cursor" not in body


def places(hits):
    return [(hit["ts_ms"], hit["stream"], hit["n"]) for hit in hits]


def make_lines(seed, count):
    dice = random.Random(seed)
    return [" ".join(dice.choice(WORDS) for _ in range(dice.randrange(1, 9))) + f" line {seed}.{i}" for i in range(count)]


PATTERNS = [
    ("timeout", {}), ("WARN error", {}), ("ERROR", {"ignore_case": "true"}), ("line 2.17", {}), ("nowhere", {}),
    (r"WARN.*timeout", {"regex": "true"}), (r"iteration\s+884187", {"regex": "true"}), (r"^alpha", {"regex": "true"}),
    (r"(?i)nccl\s", {"regex": "true"}), (r"\bloss\b (1|0)\.(25|5)", {"regex": "true"}), (r"[^a-z]+$", {"regex": "true"}),
    (r"(?<=beta )gamma(?! delta)", {"regex": "true"}), (r"\Aalpha|7\z", {"regex": "true"}), (r"\b884187\b", {"regex": "true"}),
]


def expected(texts, q, regex=None, ignore_case=None):
    flags = re.IGNORECASE if ignore_case else 0
    pattern = re.compile((q if regex else re.escape(q)).replace(r"\z", r"\Z"), flags)
    return {(stream, n) for stream, lines in texts.items() for n, line in enumerate(lines) if pattern.search(line)}


def check_all(server, job, texts):
    for q, parameters in PATTERNS:
        want = expected(texts, q, **parameters)
        for limit in (7, 1000):
            if limit == 7 and len(want) > 200:
                continue
            hits = found(server, job, q, limit=limit, **parameters)
            got = [(hit["stream"], hit["n"]) for hit in hits]
            assert len(got) == len(set(got)) and set(got) == want, (q, len(got), len(want))
            times = [hit["ts_ms"] for hit in hits]
            assert times == sorted(times, reverse=True)
        reply = search(server, job, q, limit=1, **parameters).body
        assert reply["total"] == len(want) == sum(bucket["count"] for bucket in reply["histogram"])
        oldest = found(server, job, q, order="oldest", limit=1000, **parameters)
        assert places(oldest) == places(found(server, job, q, limit=1000, **parameters))[::-1]


def test_every_hit_once_unsealed_sealed_and_after_a_restart(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    texts = {f"algo-{i}": make_lines(i, 1500) for i in (1, 2, 3)}
    for stream, lines in texts.items():
        server.send("j", lines[:900], stream=stream)
    check_all(server, "j", {stream: lines[:900] for stream, lines in texts.items()})
    server.restart()
    for stream, lines in texts.items():
        server.send("j", lines[900:], stream=stream)
    check_all(server, "j", texts)
    server.restart()
    check_all(server, "j", texts)
    only = found(server, "j", "timeout", stream="algo-2", limit=1000)
    assert {hit["n"] for hit in only} == {n for stream, n in expected({"algo-2": texts["algo-2"]}, "timeout")}


def test_every_hit_once_while_lines_come_and_move(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    count, size = 60, 400
    done = threading.Event()

    def send():
        for i in range(count):
            server.send("j", [f"part {i} needle {k} " + "x" * 200 for k in range(size)], stream=f"algo-{i % 3}")
        done.set()

    server.send("j", ["first needle"], stream="algo-0")
    sender = threading.Thread(target=send)
    sender.start()
    before = 0
    while not done.is_set():
        reply = search(server, "j", "needle", limit=1000, histogram="true")
        assert reply.status == 200, reply
        got = places(reply.body["hits"])
        assert len(got) == len(set(got)) and reply.body["total"] >= before
        before = reply.body["total"]
    sender.join()
    hits = places(found(server, "j", "needle", limit=1000))
    assert len(hits) == len(set(hits)) == count * size + 1


def test_hits_say_where_the_match_is(server):
    server.send("j", ["an apple and an apple", "x" * 20_000 + "needle" + "y" * 20_000])
    hit = search(server, "j", "apple").body["hits"][0]
    assert hit["matches"] == [[3, 8], [16, 21]] and "cut" not in hit
    hit = search(server, "j", "needle").body["hits"][0]
    (start, end), = hit["matches"]
    assert hit["cut"] is True and hit["text"][start:end] == "needle" and len(hit["text"]) == 4096
    assert hit["text_from"] + start == 20_000


def test_time_window(server):
    body = "".join(f'{{"line":"tick {i}","ts":{1_700_000_000_000 + i * 60_000}}}\n' for i in range(500))
    reply = server.post("/api/v1/logs?job=j&stream=s", body, content_type="application/x-ndjson")
    assert reply.status == 200, reply
    window = {"from_ms": 1_700_000_000_000 + 600_000, "to_ms": 1_700_000_000_000 + 1_200_000}
    reply = search(server, "j", "tick", **window).body
    assert [hit["n"] for hit in reply["hits"]] == list(range(20, 9, -1)) and reply["total"] == 11
    whole = search(server, "j", "tick").body
    assert whole["total"] == 500 and len(whole["histogram"]) <= 120
    starts = [bucket["from_ms"] for bucket in whole["histogram"]]
    assert all(b - a == whole["bucket_ms"] for a, b in zip(starts, starts[1:]))


@pytest.mark.parametrize("parameters, field", [
    ({"q": "(", "regex": "true"}, "q"), ({"q": ""}, "q"), ({"q": "a", "order": "up"}, "order"), ({"q": "a", "cursor": "x"}, "cursor"),
    ({"q": "a", "limit": "1001"}, "limit"), ({"q": "a", "stream": "none"}, "stream"), ({"q": "a" * 4097}, "q"),
    ({"q": "a", "from_line": "3"}, "from_line"), ({"q": "a", "to_line": "3"}, "to_line"), ({"q": "a", "stream": "algo-1", "from_line": "-1"}, "from_line"),
    ({"q": "a", "ticks": "none"}, "ticks"), ({"q": "a", "ticks": "algo-1", "histogram": "false"}, "ticks"),
])
def test_what_is_wrong_is_named(shared_server, parameters, field):
    shared_server.send("j", ["a"])
    reply = search(shared_server, "j", **parameters)
    assert 400 <= reply.status < 500 and reply.body["field"] == field
    if parameters["q"] == "(":
        assert reply.status == 400 and reply.body["column"] == 2


def test_a_match_that_is_given_up_is_counted(server):
    server.send("j", ["a" * 40 + "b", "aab"])
    reply = search(server, "j", "(a+)+(?=c)|(a*)*c", regex="true").body
    assert reply["hits"] == [] and reply.get("limited", 0) >= 1


def test_a_search_out_of_time_goes_on_by_its_cursor(make_server):
    server = make_server("--search-ms", "1")
    dice = random.Random(5)
    lines = [f"{i} " + " ".join(dice.choice(WORDS) for _ in range(30)) for i in range(60_000 if IS_LONG else 20_000)]
    for at in range(0, len(lines), 5000):
        server.send("j", lines[at:at + 5000])
    server.restart()
    partial, hits, cursor = 0, [], None
    while True:
        reply = search(server, "j", r"9[0-4]\b", regex="true", limit=1000, histogram="false", **({"cursor": cursor} if cursor else {}))
        partial += reply.body.get("partial", False)
        if is_cut_short(reply.body):
            continue
        hits += [hit["n"] for hit in reply.body["hits"]]
        cursor = reply.body.get("next_cursor")
        if not cursor:
            break
    want = [n for n, line in enumerate(lines) if re.search(r"9[0-4]\b", line)]
    assert partial > 0 and sorted(hits) == want


def test_a_search_gets_past_one_millisecond_that_many_blocks_share(make_server):
    server = make_server("--search-ms", "1")
    for stream in range(40 if IS_LONG else 12):
        body = "".join(f"2026-11-01T10:00:00.000Z needle {stream}.{i} {'x' * 200}\n" for i in range(1000 if IS_LONG else 500))
        assert server.post(f"/api/v1/logs?job=j&stream=s{stream}", body).status == 200
    server.restart()
    for order in ("newest", "oldest"):
        hits = found(server, "j", "needle", limit=700, order=order, histogram="false")
        assert len(places(hits)) == len(set(places(hits))) == (40_000 if IS_LONG else 6000)


def test_a_search_out_of_time_among_unsealed_lines_says_so(make_server):
    def says_so(search_ms):
        server = make_server("--search-ms", str(search_ms), "--seal-age", "1h", "--seal-bytes", "1GiB")
        for at in range(60):
            server.send("j", [f"{at}.{i} " + "word " * 40 for i in range(2000)])
        replies = [search(server, "j", "nowhere to be found").body for _ in range(50)]
        assert not any(reply["hits"] for reply in replies), replies
        return any("partial" in reply and "next_cursor" not in reply for reply in replies)

    # on a busy machine, and always under ThreadSanitizer, a millisecond is over before the first line is looked at: then it can be gone on from there
    assert any(says_so(search_ms) for search_ms in (1, 2, 4, 8))


def test_blocks_of_an_older_database_get_their_filters(make_server):
    server = make_server("--seal-age", "100ms")
    texts = {f"algo-{i}": [f"word{i} {n} and some more, {i}.{n}" for n in range(3000)] for i in range(12)}
    for stream, lines in texts.items():
        server.send("j", lines, stream=stream)

    def rows_of(table):
        return server.sql(f"SELECT * FROM {table} ORDER BY job_id, stream_id, first_line")

    wait_until(lambda: len(rows_of("blocks")) == 12, what="the lines to be sealed")
    server.stop()
    filters = rows_of("log_filters")
    assert len(filters) == 12
    server.sql("DELETE FROM log_filters WHERE stream_id != 2")
    server.start()
    wait_until(lambda: rows_of("log_filters") == filters, what="the filters that were there before")
    hits = found(server, "j", "more, 3.17", histogram="false")
    assert {(hit["stream"], hit["n"]) for hit in hits} == expected(texts, "more, 3.17")


def test_hits_before_and_behind_a_line_and_how_they_lie_among_the_lines(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    lines = [f"line {i} {'needle' if i % 700 == 0 else 'hay'} {'x' * 60}" for i in range(6000)]
    server.send("j", lines, stream="a")
    server.send("j", ["needle"] * 5, stream="b")
    for _ in range(2):
        def hits(**more):
            return [hit["n"] for hit in search(server, "j", "needle", stream="a", histogram="false", **more).body["hits"]]
        assert hits(from_line=1401, order="oldest", limit=2) == [2100, 2800]
        assert hits(from_line=1400, order="oldest", limit=1) == [1400]
        assert hits(to_line=1400, limit=1) == [700] and hits(to_line=1401, limit=1) == [1400]
        assert hits(to_line=1) == [0] and hits(to_line=0) == [] and hits(from_line=5601) == []
        assert hits(from_line=700, to_line=1400) == [700] and hits(from_line=1400, to_line=1400) == []
        body = search(server, "j", "needle", ticks="a").body
        assert body["total"] == 9 + 5 and sum(tick["count"] for tick in body["ticks"]) == 9
        width = body["tick_lines"]
        assert 6000 / 512 <= width < 2 * 6000 / 512 + 1
        assert [tick["from_line"] for tick in body["ticks"]] == [n // width * width for n in range(0, 6000, 700)]
        assert "ticks" not in search(server, "j", "needle").body
        server.restart()


def histogram(server, **parameters):
    return server.get("/api/v1/jobs/j/logs/histogram?" + urllib.parse.urlencode(parameters))


def test_all_lines_over_time(make_server):
    server = make_server("--seal-age", "1h", "--seal-bytes", "1GiB")
    first_ms = 1_700_000_000_000
    for stream in ("a", "b"):
        body = "".join(f'{{"line":"tick {i} {"x" * 50}","ts":{first_ms + i * 60_000}}}\n' for i in range(3000))
        assert server.post(f"/api/v1/logs?job=j&stream={stream}", body, content_type="application/x-ndjson").status == 200
    unsealed = histogram(server).body
    assert unsealed["total"] == 6000 == sum(bucket["count"] for bucket in unsealed["histogram"]) and len(unsealed["histogram"]) <= 120
    server.restart()
    sealed = histogram(server).body
    assert sealed["total"] == 6000 == sum(bucket["count"] for bucket in sealed["histogram"]) and sealed["bucket_ms"] == unsealed["bucket_ms"]
    assert len(sealed["histogram"]) == len(unsealed["histogram"])
    assert sealed["histogram"] == unsealed["histogram"]
    assert histogram(server, stream="a").body["total"] == 3000
    assert histogram(server, stream="c").body["field"] == "stream" and histogram(server, strem="a").status == 400
    assert server.get("/api/v1/jobs/none/logs/histogram").status == 404


def test_a_pause_is_seen_in_what_is_sealed(make_server):
    """A block holds a day of a quiet log: its lines are where they were said."""
    server = make_server("--seal-age", "1h", "--seal-bytes", "1GiB")
    first_ms, pause_ms = 1_700_000_000_000, 8 * 3_600_000
    at = [first_ms + i * 60_000 for i in range(100)] + [first_ms + pause_ms + i * 60_000 for i in range(100, 200)]
    body = "".join(f'{{"line":"tick","ts":{ts}}}\n' for ts in at)
    assert server.post("/api/v1/logs?job=j&stream=a", body, content_type="application/x-ndjson").status == 200
    server.wait_for_extraction()
    for _ in ("unsealed", "sealed"):
        reply = histogram(server).body
        width = reply["bucket_ms"]
        counts = {bucket["from_ms"]: bucket["count"] for bucket in reply["histogram"] if bucket["count"]}
        assert counts == {start: sum(start <= ts < start + width for ts in at) for start in {ts // width * width for ts in at}}
        assert max(b - a for a, b in zip(sorted(counts), sorted(counts)[1:])) > pause_ms - width
        server.restart()


def test_the_lines_of_many_wide_blocks_are_spread_over_their_times(make_server):
    """A block a stream: 32 are opened. Of one more the sum is right, and the pause is filled."""
    server = make_server("--seal-age", "1h", "--seal-bytes", "1GiB")
    first_ms = 1_700_000_000_000
    for streams in (32, 33):
        for number in range(streams):
            body = "".join(f'{{"line":"tick","ts":{first_ms + i * 60_000 + (i >= 100) * 8 * 3_600_000}}}\n' for i in range(200))
            reply = server.post(f"/api/v1/logs?job=of-{streams}&stream=s{number}", body, content_type="application/x-ndjson")
            assert reply.status == 200
    server.wait_for_extraction()
    server.restart()
    for streams, is_exact in ((32, True), (33, False)):
        buckets = server.get(f"/api/v1/jobs/of-{streams}/logs/histogram").body["histogram"]
        counts = [bucket["count"] for bucket in buckets]
        assert sum(counts) == streams * 200
        middle = counts[len(counts) // 2]  # 340 minutes behind the first line: in the pause, from 99 to 580
        assert (middle == 0) == is_exact, counts


# ---- each message once ----
def groups(server, job, **parameters):
    reply = server.get(f"/api/v1/jobs/{job}/logs/groups?" + urllib.parse.urlencode(parameters))
    assert reply.status == 200, reply
    return reply.body


def send_at(server, job, stream, lines):
    """(time, text)"""
    body = "".join(json.dumps({"line": text, "ts": ts}) + "\n" for ts, text in lines)
    reply = server.post(f"/api/v1/logs?job={job}&stream={stream}", body, content_type="application/x-ndjson")
    assert reply.status == 200, reply


def test_what_failed_first_over_all_nodes(emptied_server):
    """64 ranks say that a peer has gone; rank 37 said why, a second before."""
    server = emptied_server
    base, quiet = 1_790_000_000_000, "step: 1 loss: 2.5 error_rate: 0.1, 0 errors"
    for rank in range(64):
        lines = [(base, quiet), (base + 5000 + rank, f"[rank{rank}]: torch.distributed.DistBackendError: NCCL error at 10.0.0.{rank}:4{rank:03}")]
        if rank == 37:
            lines[1:1] = [(base + 4000, "\x1b[31mRuntimeError: CUDA error: device-side assert triggered at 0x7f3a00c0\x1b[0m")]
        send_at(server, "nodes", f"algo-{rank + 1}", lines)
    reply = groups(server, "nodes", errors="true")
    assert (reply["found"], reply["lines"]) == (2, 65) and "partial" not in reply and "ungrouped" not in reply
    first, peers = reply["groups"]
    assert (first["stream"], first["n"], first["ts_ms"], first["lines"], first["streams"], first["named"]) == ("algo-38", 1, base + 4000, 1, 1, ["algo-38"])
    assert "device-side assert" in first["text"]
    assert (peers["stream"], peers["n"], peers["ts_ms"], peers["last_ms"]) == ("algo-1", 1, base + 5000, base + 5063)
    assert (peers["lines"], peers["streams"], peers["named"]) == (64, 64, [f"algo-{i}" for i in range(1, 9)])
    one = groups(server, "nodes", errors="true", limit=1)
    assert [group["n"] for group in one["groups"]] == [1] and one["found"] == 2
    # The same lines, one by one.
    assert len(found(server, "nodes", "", errors="true", limit=1000)) == 65


def test_what_is_the_same_message(emptied_server):
    server = emptied_server
    server.send("j", [
        "ERROR: worker 3 of 8 exited with code 137", "ERROR: worker 12 of 8 exited with code 137", "ERROR: worker 3 of 8 exited with code 1",
        "NVRM: Xid (PCI:0000:a1:00): 79, pid=4123, GPU has fallen off the bus", "NVRM: Xid (PCI:0000:b2:00): 79, pid=99, GPU has fallen off the bus",
        "NVRM: Xid (PCI:0000:a1:00): 48, pid=4123, GPU has fallen off the bus", "ERROR:   worker 7 of 9 exited with code 137",
    ])
    assert [(group["n"], group["lines"]) for group in groups(server, "j", errors="true")["groups"]] == [(0, 3), (2, 1), (3, 2), (5, 1)]
    assert [(group["n"], group["lines"]) for group in groups(server, "j", q="xid", ignore_case="true")["groups"]] == [(3, 2), (5, 1)]


def test_more_messages_than_are_kept_apart_are_counted(emptied_server):
    server = emptied_server
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [a + b + c for a in letters[:13] for b in letters[:10] for c in letters[:10]]
    send_at(server, "j", "s", [(1_790_000_000_000 + i, f"ERROR: {word} " + "é" * 600) for i, word in enumerate(words)])
    reply = groups(server, "j", errors="true", limit=1000)
    assert (reply["lines"], reply["found"], reply["ungrouped"]) == (1300, 1000, 300)
    numbers = [group["n"] for group in reply["groups"]]
    assert numbers == sorted(set(numbers)) and numbers[0] == 0, "which are kept apart depends on what is sealed meanwhile"
    assert all(group["cut"] and len(group["text"].encode()) <= 1024 for group in reply["groups"])


def test_groups_refuse_what_they_do_not_understand(emptied_server):
    server = emptied_server
    server.send("j", ["ERROR: one"])
    for query, field in [("", "q"), ("errors=true&q=x", "errors"), ("errors=true&regex=true", "errors"), ("q=(&regex=true", "q"), ("q=x&limit=1001", "limit")]:
        reply = server.get(f"/api/v1/jobs/j/logs/groups?{query}")
        assert reply.status == 400 and reply.body["field"] == field, (query, reply)
    assert server.get("/api/v1/jobs/j/logs/groups?errors=true&stream=nowhere").status == 404
    assert server.get("/api/v1/jobs/nobody/logs/groups?errors=true").status == 404


def test_an_empty_line_is_found_wherever_it_stands(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    posts = {"one": ["a\n\n"], "pairs": ["step=1 loss=2.0\n\n"] * 50, "first": ["\na\n"] * 3, "alone": ["\n"] * 3, "none": ["a\nb\n"]}
    texts = {stream: "".join(bodies).split("\n")[:-1] for stream, bodies in posts.items()}
    for stream, bodies in posts.items():
        for body in bodies:
            assert server.post(f"/api/v1/logs?job=j&stream={stream}", body.encode()).status == 200
    for _ in range(2):
        for q in (r"^$", r"^\s*$", r"\A\z", r"^(?!.)", r"^", r"$", r"^a?$"):
            want = {(stream, n) for stream, lines in texts.items() for n, line in enumerate(lines) if re.search(q.replace(r"\z", r"\Z"), line)}
            assert {(hit["stream"], hit["n"]) for hit in found(server, "j", q, regex="true", limit=50)} == want, q
        wait_until(lambda: server.sql("SELECT sum(line_count) FROM blocks") == [(sum(map(len, texts.values())),)], what="all lines to be sealed")


OF_CHARACTERS = [r"na.ve", r"na..ve", r"na[^x]ve", r"^.{3}$", r"^\S{2}:", r"^[^ ]{5}$", r"\x{65e5}", "\u00e9{2}:", "(?i)\u041f\u041e\u0422\u0415\u0420\u042f="]
WIDE = ["na\u00efve", "NA\u00cfVE x", "\u00e9\u00e9: 1", "\u65e5\u672c\u8a9e", "plain words", "", "\u043f\u043e\u0442\u0435\u0440\u044f=3", "na-ve", "\u00e9t\u00e9"]


def test_an_expression_is_of_characters(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    texts = {"s": WIDE * 50, "t": [line for line in WIDE for _ in range(7)]}
    for stream, lines in texts.items():
        server.send("j", lines, stream=stream)
    for _ in range(2):
        for q in OF_CHARACTERS:
            want = expected(texts, q.replace(r"\x{65e5}", "\u65e5"), regex=True)
            assert want and {(hit["stream"], hit["n"]) for hit in found(server, "j", q, regex="true", limit=1000)} == want or q == r"na..ve" and not want, q
        wait_until(lambda: server.sql("SELECT sum(line_count) FROM blocks") == [(sum(map(len, texts.values())),)], what="all lines to be sealed")
    assert {tuple(map(tuple, hit["matches"])) for hit in found(server, "j", r"a.v", regex="true", limit=1000) if "\u00ef" in hit["text"]} == {((1, 5),)}
