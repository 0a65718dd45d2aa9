"""Charts and points: 10 M points whole and zoomed, 64 streams folded, bytes a point, every point out. Rows for tests/bench/run."""

import http.client
import json
import os
import pathlib
import random
import sqlite3
import statistics
import time

from smserver import Server, wait_until

POINTS, PIECE, FOLDED_STREAMS, FOLDED_POINTS, BUCKETS, TIMES = 10_000_000, 500_000, 64, 150_000, 2000, 40
CATCH_UP_S = 900
DEFINITIONS = [{"Name": "loss", "Regex": "step (?<step>[0-9]+) loss (?<value>[0-9.]+)"}]
LOGS = os.environ.get("SM_CORPUS", "/work/shared/logs")
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


def wait_for_pyramids(server, job, count):
    wait_until(lambda: server.points(job, "loss", buckets=10)["total_points"] == count, CATCH_UP_S, "all points")
    wait_until(lambda: covered(server) >= count * 95 // 100, CATCH_UP_S, "the pyramids")


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


def measure_raw(server, found):
    for name, accept in (("json", "application/json"), ("ndjson", "application/x-ndjson")):
        before, begin = process_cpu(server.process.pid), time.perf_counter()
        connection, got = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600), 0
        connection.request("GET", "/api/v1/jobs/big/points?metric=loss&raw=true", headers={"Accept": accept})
        reply = connection.getresponse()
        while piece := reply.read(1 << 20):
            got += len(piece)
        took, cpu = time.perf_counter() - begin, process_cpu(server.process.pid) - before
        found[f"raw_{name}"] = {"mb_per_s": got / took / 1e6, "points_per_cpu_s": POINTS / cpu}
        connection.close()


def measure_chart_10m(folder, found):
    server = start(folder, "chart10m")
    create_job(server, "big")
    send_points(server, "big", "algo-1", POINTS)
    wait_for_pyramids(server, "big", POINTS)
    path = f"/api/v1/jobs/big/points?metric=loss&buckets={BUCKETS}"
    found["empty"] = time_gets(server, "/healthz")
    found["chart_10m"] = time_gets(server, path)
    for exponent in range(11, 24, 2):
        found[f"zoom_{1 << exponent}"] = time_gets(server, f"{path}&from=3000001&to={min(3000000 + (1 << exponent), POINTS)}")
    found["chart_10m_time"] = time_gets(server, path + "&x=time")
    measure_raw(server, found)
    server.stop()
    found["bytes_a_point"] = a_point(*point_bytes(server.database))


def measure_chart_folded(folder, found):
    server = start(folder, "folded")
    create_job(server, "wide")
    for i in range(FOLDED_STREAMS):
        send_points(server, "wide", f"algo-{i + 1}", FOLDED_POINTS)
    wait_for_pyramids(server, "wide", FOLDED_STREAMS * FOLDED_POINTS)
    found["chart_64_streams"] = time_gets(server, f"/api/v1/jobs/wide/points?metric=loss&buckets={BUCKETS}")
    server.stop()


def measure_real_points(folder, found):
    """Every real log a job of its own, by the presets."""
    logs = [path for path in sorted(pathlib.Path(LOGS).rglob("*")) if path.suffix in (".log", ".txt", ".out")]
    if not logs:
        return
    server = start(folder, "real")
    for i, path in enumerate(logs):
        reply = server.post(f"/api/v1/logs?job=real-{i}&stream=algo-1", path.read_bytes(), timeout=CATCH_UP_S)
        assert reply.status == 200, reply
    server.stop()
    sizes, points = point_bytes(server.database)
    found["real_bytes_a_point"] = a_point(sizes, points)


def measure_points(folder, found):
    for measure in (measure_real_points, measure_chart_10m, measure_chart_folded):
        measure(folder, found)


if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory() as scratch:
        figures = {}
        measure_points(scratch, figures)
        print(json.dumps(figures, indent=1))
