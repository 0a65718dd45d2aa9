"""Charts: a sealed series in a screen's width of buckets."""

import socket
import statistics
import time

from harness import CATCH_UP_S, create_jobs, read_metrics
from smserver import Server, wait_until
from table import Line, Row

CHART_POINTS, CHART_BUCKETS, CHART_TIMES, CHART_TARGET_MS = 1_000_000, 2000, 40, 0.6


def time_get(connection, path):
    """Milliseconds until the last byte, and how many there were."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    start = time.perf_counter()
    connection.sendall(request)
    data = connection.recv(1 << 20)
    head, _, _ = data.partition(b"\r\n\r\n")
    length = int(next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")).split(b":")[1])
    count = len(data)
    while count < len(head) + 4 + length:
        count += len(connection.recv(1 << 20))
    assert head.startswith(b"HTTP/1.1 200"), head
    return (time.perf_counter() - start) * 1000, count


def measure_chart(bench):
    bench.say(f"chart: {CHART_POINTS} points")
    server = Server(bench.folder, "--seal-age", "1s").start()
    create_jobs(server, "chart", 1, [{"Name": "loss", "Regex": "step (?<step>[0-9]+) loss (?<value>[0-9.]+)"}])
    text = "".join(f"step {i} loss {2 + (i * 7919 % 1000) / 1000:.3f}\n" for i in range(CHART_POINTS))
    reply = server.post("/api/v1/logs?job=chart-0&stream=algo-1", text, timeout=CATCH_UP_S)
    assert reply.status == 200, reply
    path = f"/api/v1/jobs/chart-0/points?metric=loss&buckets={CHART_BUCKETS}"
    zoom = f"{path}&from=400000&to=463000"
    wait_until(lambda: server.points("chart-0", "loss")["total_points"] == CHART_POINTS, CATCH_UP_S, "all points")
    is_sealed = True
    try:
        wait_until(lambda: read_metrics(server)["sealed_points_total"] >= CHART_POINTS, CATCH_UP_S, "the seal")
    except AssertionError:
        is_sealed = False
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        empty = statistics.median(time_get(connection, "/healthz")[0] for _ in range(CHART_TIMES))
        whole = [time_get(connection, path) for _ in range(CHART_TIMES)]
        zoomed = [time_get(connection, zoom) for _ in range(CHART_TIMES)]
    figures = {"points": CHART_POINTS, "buckets": CHART_BUCKETS, "is_sealed": is_sealed, "reply_bytes": whole[0][1],
        "empty_ms": empty, "whole_ms": statistics.median(ms for ms, _ in whole), "whole_best_ms": min(ms for ms, _ in whole),
        "zoom_ms": statistics.median(ms for ms, _ in zoomed)}
    server.stop()
    return figures


def report_chart(chart, bench):
    took = chart["whole_ms"] - chart["empty_ms"]
    return [Line(f"chart, {CHART_POINTS // 1_000_000} M points to {CHART_BUCKETS} buckets", f"{took:.2f} ms", "", "",
        f"<= {CHART_TARGET_MS:g} ms", took <= CHART_TARGET_MS)]


def tell_chart(chart, bench):
    return [f"chart: whole {chart['whole_ms']:.2f} ms (best {chart['whole_best_ms']:.2f}), zoomed {chart['zoom_ms']:.2f}, "
        f"an empty request {chart['empty_ms']:.2f}; {chart['reply_bytes'] / 1000:.0f} kB; points "
        + ("sealed" if chart["is_sealed"] else "NOT all sealed")]


ROWS = [Row("chart", measure_chart, report_chart, tell_chart)]
