"""Charts and points: 10 M points whole and zoomed, 64 streams folded, bytes a point, every point out. Rows for tests/bench/run."""

import http.client
import os
import pathlib
import random
import sqlite3
import statistics
import time

import harness  # noqa: F401  (finds smserver)
from smserver import Server, wait_until
from table import Line, Row

POINTS, QUICK_POINTS, PIECE, FOLDED_STREAMS, FOLDED_POINTS, BUCKETS, TIMES = 10_000_000, 1_000_000, 500_000, 64, 150_000, 2000, 40
CHART_MS, ZOOM_MS, FOLD_MS, POINT_BYTES = 0.6, 1.5, 8, 3
CATCH_UP_S = 900
LAG_POINTS = 4 * 1024  # of a series: chunks that wait for company (server/read/charts/pyramid_read.h), and one that is begun
DEFINITIONS = [{"Name": "loss", "Regex": "step (?<step>[0-9]+) loss (?<value>[0-9.]+)"}]
LOGS = os.environ.get("SM_CORPUS") or pathlib.Path(__file__).resolve().parents[3] / "shared/logs"
POINT_TABLES = ("chunks", "pyramids", "pyramid_rows")


def start(folder, name):
    folder = pathlib.Path(folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    return Server(folder, "--seal-age", "1s").start()


def create_job(server, job):
    document = {"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": DEFINITIONS}}
    assert server.post("/api/v1/jobs", json=document).status == 201


def send_points(server, job, stream, count):
    """A loss with four decimals that falls and trembles, one point a step."""
    noise = random.Random(count)
    for first in range(0, count, PIECE):
        lines = [f"step {i} loss {2 + 8 / (1 + i / 50000) + noise.random() / 10:.4f}\n" for i in range(first, min(first + PIECE, count))]
        reply = server.post(f"/api/v1/logs?job={job}&stream={stream}", "".join(lines), timeout=CATCH_UP_S)
        assert reply.status == 200, reply


def covered(server):
    with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
        return database.execute("SELECT coalesce(sum(points), 0) FROM pyramids").fetchone()[0]


def wait_for_pyramids(server, job, count, streams=1):
    """Until no series lags by more than the server leaves for later: what is behind that is read point by point."""
    wait_until(lambda: server.points(job, "loss", buckets=10)["total_points"] == count, CATCH_UP_S, "all points")
    wait_until(lambda: covered(server) >= max(count * 95 // 100, count - streams * LAG_POINTS), CATCH_UP_S, "the pyramids")


def time_gets(server, path):
    """Milliseconds of one request: the middle and the best of many on one connection, and what it costs in processor time."""
    connection, took = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60), []
    before = process_cpu(server.process.pid)
    for _ in range(TIMES):
        begin = time.perf_counter()
        connection.request("GET", path)
        reply = connection.getresponse()
        body = reply.read()
        took.append((time.perf_counter() - begin) * 1000)
        assert reply.status == 200, body
    cpu = process_cpu(server.process.pid) - before
    connection.close()
    return {"ms": statistics.median(took), "best_ms": min(took), "cpu_ms": cpu / TIMES * 1000, "bytes": len(body)}


def process_cpu(pid):
    """Seconds; by the scheduler's clock, which is finer than ticks."""
    return sum(int(pathlib.Path(task, "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def point_bytes(database_path):
    """Bytes of all blobs that points need, by table; and how many points."""
    with sqlite3.connect(f"file:{database_path}?mode=ro", uri=True) as database:
        sizes = {table: database.execute(f"SELECT coalesce(sum(length(data)), 0) FROM {table}").fetchone()[0] for table in POINT_TABLES}
        return sizes, database.execute("SELECT coalesce(sum(point_count), 0) FROM chunks").fetchone()[0]


def a_point(sizes, points):
    return {**{table: size / max(points, 1) for table, size in sizes.items()}, "total": sum(sizes.values()) / max(points, 1), "points": points}


def measure_raw(server, points, found):
    for name, accept in (("json", "application/json"), ("ndjson", "application/x-ndjson")):
        before, begin = process_cpu(server.process.pid), time.perf_counter()
        connection, got = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600), 0
        connection.request("GET", "/api/v1/jobs/big/points?metric=loss&raw=true", headers={"Accept": accept})
        reply = connection.getresponse()
        while piece := reply.read(1 << 20):
            got += len(piece)
        took, cpu = time.perf_counter() - begin, process_cpu(server.process.pid) - before
        found[f"raw_{name}"] = {"mb_per_s": got / took / 1e6, "points_per_cpu_s": points / cpu}
        connection.close()


def measure_chart(bench):
    points = QUICK_POINTS if bench.is_quick else POINTS
    bench.say(f"chart: {points // 1_000_000} M points")
    found, server = {"points": points}, start(bench.folder, "chart")
    create_job(server, "big")
    send_points(server, "big", "algo-1", points)
    wait_for_pyramids(server, "big", points)
    path = f"/api/v1/jobs/big/points?metric=loss&buckets={BUCKETS}"
    found["empty"] = time_gets(server, "/healthz")
    found["whole"] = time_gets(server, path)
    found["time"] = time_gets(server, path + "&x=time")
    widths = [1 << exponent for exponent in range(11, 24, 2) if 1 << exponent <= points // 2]
    found["zooms"] = {width: time_gets(server, f"{path}&from={points // 3 + 1}&to={points // 3 + width}") for width in widths}
    measure_raw(server, points, found)
    server.stop()
    found["bytes_a_point"] = a_point(*point_bytes(server.database))
    return found


def measure_fold(bench):
    points = FOLDED_POINTS // 10 if bench.is_quick else FOLDED_POINTS
    bench.say(f"fold: {FOLDED_STREAMS} streams of {points} points")
    server = start(bench.folder, "fold")
    create_job(server, "wide")
    for i in range(FOLDED_STREAMS):
        send_points(server, "wide", f"algo-{i + 1}", points)
    wait_for_pyramids(server, "wide", FOLDED_STREAMS * points, FOLDED_STREAMS)
    found = {"points": points, "empty": time_gets(server, "/healthz"),
        "folded": time_gets(server, f"/api/v1/jobs/wide/points?metric=loss&buckets={BUCKETS}")}
    server.stop()
    return found


def measure_space(bench):
    """Every real log a job of its own, by the presets; text and points."""
    logs = [path for path in sorted(pathlib.Path(LOGS).rglob("*")) if path.suffix in (".log", ".txt", ".out")]
    if not logs:
        bench.say(f"space: left out, there are no logs in {LOGS} (SM_CORPUS)")
        return {}
    bench.say(f"space: {len(logs)} real logs")
    server, text_bytes = start(bench.folder, "space"), 0
    for i, path in enumerate(logs):
        reply = server.post(f"/api/v1/logs?job=real-{i}&stream=algo-1", path.read_bytes(), timeout=CATCH_UP_S)
        assert reply.status == 200, reply
        text_bytes += path.stat().st_size
    server.stop()
    sizes, points = point_bytes(server.database)
    with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
        stored = {table: database.execute(f"SELECT coalesce(sum(length({column})), 0) FROM {table}").fetchone()[0]
            for table, column in (("blocks", "data"), ("log_filters", "filter"))}
    return {"text_bytes": text_bytes, "stored": stored, "bytes_a_point": a_point(sizes, points)}


# ---- the report ----

def less_empty(found, name):
    """The server's own time, as far as a client can tell: without what any request costs."""
    return found[name]["best_ms"] - found["empty"]["best_ms"]


def report_chart(found, bench):
    whole, by_time = less_empty(found, "whole"), less_empty(found, "time")
    zoom = max((one["best_ms"] - found["empty"]["best_ms"] for one in found["zooms"].values()), default=0)
    a_point_total = found["bytes_a_point"]["total"]
    millions = found["points"] // 1_000_000
    return [Line(f"chart, {millions} M points to {BUCKETS} buckets, by step", f"{whole:.2f} ms", "", "", f"<= {CHART_MS:g} ms", whole <= CHART_MS),
        Line("the same, by time", f"{by_time:.2f} ms", "", "", f"<= {CHART_MS:g} ms", by_time <= CHART_MS),
        Line("the same at its slowest zoom", f"{zoom:.2f} ms", "", "", f"<= {ZOOM_MS:g} ms", zoom <= ZOOM_MS),
        Line("bytes a point, generated, with pyramids", f"{a_point_total:.2f} B", "", "", f"<= {POINT_BYTES:g} B", a_point_total <= POINT_BYTES)]


def tell_chart(found, bench):
    zooms = ", ".join(f"{width} points {one['best_ms']:.2f}" for width, one in found["zooms"].items())
    return [f"chart: wall ms of a request, best of {TIMES}: whole {found['whole']['best_ms']:.2f} (median {found['whole']['ms']:.2f}, "
        f"{found['whole']['bytes'] / 1000:.0f} kB), by time {found['time']['best_ms']:.2f}, empty {found['empty']['best_ms']:.2f}; zooms: {zooms}",
        f"  every point out: JSON {found['raw_json']['mb_per_s']:.0f} MB/s, NDJSON {found['raw_ndjson']['mb_per_s']:.0f} MB/s"]


def report_fold(found, bench):
    took = less_empty(found, "folded")
    return [Line(f"chart, {FOLDED_STREAMS} streams x {found['points'] // 1000} k points folded", f"{took:.1f} ms", "", "", f"<= {FOLD_MS:g} ms",
        took <= FOLD_MS)]


def report_space(found, bench):
    if not found:
        return []
    share = sum(found["stored"].values()) / found["text_bytes"]
    points = found["bytes_a_point"]
    return [Line("real logs: text and search index", f"1/{1 / share:.1f} of {found['text_bytes'] / 1e6:.0f} MB", "", "", "<= 1/8", share <= 1 / 8),
        Line("real logs: bytes a point, with pyramids", f"{points['total']:.2f} B of {points['points']} points", "", "", f"<= {POINT_BYTES:g} B",
            points["total"] <= POINT_BYTES)]


ROWS = [Row("chart", measure_chart, report_chart, tell_chart), Row("fold", measure_fold, report_fold), Row("space", measure_space, report_space)]
