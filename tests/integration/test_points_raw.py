"""Every point out: raw as JSON, NDJSON and CSV; and charts over pyramids that say what the points say."""

import csv
import io
import json
import math
import os
import random
import re

from howlong import long
from smserver import wait_until


def send_loss(server, job, texts, stream="algo-1", first=0):
    server.send(job, [f"step: {first + i} loss: {text}" for i, text in enumerate(texts)], stream=stream)


def raw(server, job, query="", **options):
    return server.get(f"/api/v1/jobs/{job}/points?metric=train:loss&raw=true{query}", **options)


def points_of(reply):
    """(stream, step, value) of a JSON reply, in its order."""
    return [(series["stream"], step, value) for series in reply.body["series"]
        for step, value in zip(series["step"], series["value"])]


def sealed(server, at_least):
    text = server.get("/metrics").body
    return int(re.search(r"^\w*sealed_points_total (\d+)", text, re.M).group(1)) >= at_least


def test_raw_is_every_point_of_every_stream(server):
    texts = ["1.5", "NaN", "inf", "-inf", "-0.25"]
    for stream in ("algo-1", "algo-2"):
        send_loss(server, "j", texts, stream)
        server.wait_for_points("j", "train:loss", len(texts), stream)
    expected = [1.5, "NaN", "Infinity", "-Infinity", -0.25]
    reply = raw(server, "j")
    assert reply.status == 200 and reply.body["total_points"] == 10 and reply.body["metric"] == "train:loss"
    assert points_of(reply) == [(stream, i, value) for stream in ("algo-1", "algo-2") for i, value in enumerate(expected)]
    only = raw(server, "j", "&stream=algo-2&from=1&to=2")
    assert points_of(only) == [("algo-2", 1, "NaN"), ("algo-2", 2, "Infinity")]


def test_a_series_is_one_entry_wherever_its_points_are(make_server):
    """Sealed and not, and more than are kept in memory for a reply; also where only some are asked for."""
    server, counts = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB"), {"few": 2_000, "many": 40_000}
    for stream, count in counts.items():
        for first in range(0, count, 20_000):
            send_loss(server, "j", [f"{i}.5" for i in range(first, min(first + 20_000, count))], stream, first)
        server.wait_for_points("j", "train:loss", count, stream)
    wait_until(lambda: sealed(server, sum(counts.values())), what="the seal")
    for stream, count in counts.items():
        send_loss(server, "j", ["0.25"], stream, count)
        server.wait_for_points("j", "train:loss", count + 1, stream)
    reply = raw(server, "j").body
    assert [series["stream"] for series in reply["series"]] == [*counts] and reply["total_points"] == sum(counts.values()) + 2
    for series, count in zip(reply["series"], counts.values()):
        assert series["step"] == [*range(count + 1)] and series["value"] == [*(i + 0.5 for i in range(count)), 0.25]
        assert series["line"] == series["step"] and series["attempt"] == [1] * (count + 1) and len(series["ts_ms"]) == count + 1
    some = raw(server, "j", "&from=1990&to=30000").body
    assert [(series["stream"], series["step"]) for series in some["series"]] == [("few", [*range(1990, 2001)]), ("many", [*range(1990, 30001)])]
    assert raw(server, "j", "&from=100000").body["series"] == []


def test_ndjson_and_csv_say_the_same(server):
    send_loss(server, "a,b", ["1.5", "NaN", "2"])
    server.wait_for_points("a,b", "train:loss", 3)
    path = "/api/v1/jobs/a%2Cb/points?metric=train:loss"
    lines = server.get(path + "&raw=true", headers={"Accept": "application/x-ndjson"})
    objects = [json.loads(line) for line in lines.body.splitlines()]
    assert [(o["step"], o["value"], o["line"], o["attempt"]) for o in objects] == [(0, 1.5, 0, 1), (1, "NaN", 1, 1), (2, 2, 2, 1)]
    reply = server.get(path + "&format=csv")
    assert reply.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(reply.body)))
    assert [(row["job"], row["stream"], int(row["step"]), row["value"]) for row in rows] == [
        ("a,b", "algo-1", 0, "1.5"), ("a,b", "algo-1", 1, "NaN"), ("a,b", "algo-1", 2, "2")]
    assert [int(row["ts_ms"]) for row in rows] == [o["ts_ms"] for o in objects]
    buckets = list(csv.DictReader(io.StringIO(server.get(path + "&format=csv&buckets=1").body)))
    assert len(buckets) == 1 and buckets[0]["count"] == "3" and buckets[0]["max"] == "2"


def test_refusals_name_the_field(server):
    send_loss(server, "j", ["1"])
    server.wait_for_points("j", "train:loss", 1)
    for query, status, field in (("&format=xml", 400, "format"), ("&raw=maybe", 400, "raw"), ("&raw=true&x=relative", 422, "x")):
        reply = server.get(f"/api/v1/jobs/j/points?metric=train:loss{query}")
        assert reply.status == status and reply.body["field"] == field, reply
    assert raw(server, "nobody").status == 404
    assert server.get("/api/v1/jobs/j/points?metric=nothing&raw=true").status == 404


def check_chart(server, values, low, high, buckets):
    reply = server.points("j", "train:loss", **{"from": low, "to": high, "buckets": buckets})
    columns, width = reply["columns"], reply["bucket_width"]
    assert reply["total_points"] == high - low + 1 and len(columns["x"]) <= buckets
    for i, x in enumerate(columns["x"]):
        end = min((x // width + 1) * width, high + 1)
        inside = values[x:end]
        finite = [value for value in inside if math.isfinite(value)]
        assert columns["count"][i] == len(inside) and columns["non_finite"][i] == len(inside) - len(finite)
        assert (columns["inf"][i], columns["neg_inf"][i]) == (inside.count(math.inf), inside.count(-math.inf))
        if finite:
            assert (columns["min"][i], columns["max"][i]) == (min(finite), max(finite))
            for end in ("min", "max"):
                assert values[columns[f"{end}_line"][i]] == values[columns[f"{end}_x"][i]] == columns[end][i]
            assert math.isclose(columns["mean"][i], sum(finite) / len(finite), rel_tol=1e-9, abs_tol=1e-9)


def test_charts_over_pyramids_and_raw_after_restart(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    count, noise = 60_000, random.Random(5)
    texts = [f"{noise.gauss(0, 1):.4f}" for _ in range(count)]
    texts[31_234], texts[40_000], texts[40_001], texts[40_002], texts[50_001] = "NaN", "inf", "9000.5", "-inf", "1000000"
    values = [float(text) for text in texts]
    for first in range(0, count, 20_000):
        send_loss(server, "j", texts[first:first + 20_000], first=first)
    server.wait_for_points("j", "train:loss", count)
    windows = [(0, count - 1, 100), (0, count - 1, 2000), (10_001, 50_003, 50), (30_000, 33_000, 3000), (100, 59_900, 7)]
    for window in windows:
        check_chart(server, values, *window)
    wait_until(lambda: sealed(server, count), what="the seal")
    server.send("j", ["step: 60000 loss: 0.5"]) # one that no pyramid has
    server.wait_for_points("j", "train:loss", count + 1)
    for window in windows:
        check_chart(server, values, *window)
    wait_until(lambda: covered(server) >= 50_000, what="the pyramid")
    for window in windows:
        check_chart(server, values, *window)
    server.restart()
    for window in windows:
        check_chart(server, values, *window)
    found = points_of(raw(server, "j"))
    assert [step for _, step, _ in found] == list(range(count + 1))
    assert all(str(a) == str(b) or a == b for a, b in zip((v for _, _, v in found),
        ["NaN" if math.isnan(v) else str(v).replace("inf", "Infinity") if math.isinf(v) else v for v in values]))


def covered(server):
    return server.sql("SELECT coalesce(max(points), 0) FROM pyramids")[0][0]


def resident_kb(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"RssAnon:\s+(\d+)", status.read()).group(1))


@long
def test_many_points_cost_no_memory(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB",
        environment={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=2:exitcode=99"}) # what is freed must not count
    count = 200_000
    for first in range(0, count, 50_000):
        send_loss(server, "j", [f"{i % 1000 / 7:.6f}" for i in range(first, first + 50_000)], first=first)
    server.wait_for_points("j", "train:loss", count)
    wait_until(lambda: sealed(server, count * 9 // 10), what="the seal")
    before = resident_kb(server)
    total, most = 0, 0
    for _ in range(3):
        reply = raw(server, "j", headers={"Accept": "application/x-ndjson"})
        total += reply.body.count("\n")
        most = max(most, resident_kb(server))
    assert total == 3 * count
    assert most - before < 64 << 10 # three replies of 20 MB each


def query(server, *queries):
    return server.post("/api/v1/points/query", json={"queries": list(queries)})


def test_many_charts_in_one_request(make_server):
    server = make_server("--max-chart-queries", "3", "--max-chart-buckets", "2000")
    for job, texts in (("a", ["1", "2", "3"]), ("b", ["5", "NaN"])):
        send_loss(server, job, texts)
        server.wait_for_points(job, "train:loss", len(texts))
    reply = query(server, {"job": "a", "metric": "train:loss", "buckets": 500}, {"job": "nobody", "metric": "loss", "buckets": 500},
        {"job": "b", "metric": "loss", "from": 1, "attempts": "all"})
    a, nobody, b = reply.body["results"]
    assert a["columns"] == server.points("a", "train:loss", buckets=500)["columns"] and a["columns"]["last"] == [1, 2, 3]
    assert nobody["error"]["status"] == 404 and "nobody" in nobody["error"]["detail"]
    assert b["columns"]["last"] == ["NaN"] and b["columns"]["x"] == [1]
    over = query(server, *[{"job": "a", "metric": "train:loss", "buckets": 1}] * 4)
    assert over.status == 413 and "--max-chart-queries" in over.body["detail"]
    over = query(server, {"job": "a", "metric": "train:loss", "buckets": 2000}, {"job": "a", "metric": "train:loss", "buckets": 1})
    assert over.status == 413 and "--max-chart-buckets" in over.body["detail"]
    wrong = query(server, {"job": "a", "metric": "train:loss", "x": "miles"}, {"metric": "loss", "buckets": 1}, 7)
    assert wrong.status == 200 and [one["error"].get("field") for one in wrong.body["results"]] == ["x", "job", "queries"]
    assert server.post("/api/v1/points/query", json={"queries": 3}).status == 422


def test_points_of_a_search(server):
    for i in range(120): # more than a page
        server.send(f"run-{i:03}", [f"step: 1 loss: {i}.5"])
    server.send("other", ["step: 1 loss: 7"])
    server.send("run-x", ["nothing here"])
    server.wait_for_points("run-119", "train:loss", 1)
    server.wait_for_points("other", "train:loss", 1)
    def read():
        reply = server.get("/api/v1/points?q=name~%22run-.*%22&metric=loss&format=csv")
        assert reply.status == 200, reply
        return [(row["job"], row["value"]) for row in csv.DictReader(io.StringIO(reply.body))]
    assert wait_until(lambda: len(read()) == 120, what="all jobs") and read() == [(f"run-{i:03}", f"{i}.5") for i in range(120)]
    assert server.get("/api/v1/points?q=&metric=").status == 400
    assert server.get("/api/v1/points?q=name~~~&metric=loss").status == 422
