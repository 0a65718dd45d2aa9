"""What a lab has after some weeks, in one database: a GB of text over 64 streams and 100 M points; then its size, chart, search,
tail and start."""

import http.client
import os
import pathlib
import random
import signal
import sqlite3
import statistics
import time

import harness
from smserver import Server, wait_until
from table import Line, Row

UNCOVERED_POINTS = 3 * 1024  # of a series: chunks that are not enough for a slice yet
TEXT_BYTES, STREAMS, POINTS, SERIES, BODY_POINTS, QUICK_SHARE = 1_000_000_000, 64, 100_000_000, 10, 100_000, 20
T0, TIMES, PATIENCE_S = 1_700_000_000_000, 15, 1800
JOB, START_S = "big", 2.0


def send_text(server, size):
    load = harness.start_load(server, "text", 3600, ("small", "--connections", 16, "--jobs", 1, "--lines", 2000, "--streams", STREAMS,
        "--bytes", size))
    result = harness.end_load(load)
    wait_until(lambda: harness.is_caught_up(server), PATIENCE_S, "extraction")
    return result


def send_points(server, count):
    """A body a series in turn; steps and times go on, values come round again."""
    chance = random.Random(5)
    values = ",".join(f"{2 + chance.random():.4f}" for _ in range(BODY_POINTS))
    connection, a_series = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600), count // SERIES
    for first in range(0, a_series, BODY_POINTS):
        steps = ",".join(map(str, range(first, first + BODY_POINTS)))
        times = ",".join(map(str, range(T0 + first * 1000, T0 + (first + BODY_POINTS) * 1000, 1000)))
        for series in range(SERIES):
            body = f'{{"series":[{{"metric":"loss","stream":"algo-{series + 1}","step":[{steps}],"ts_ms":[{times}],"value":[{values}]}}]}}'
            while True:
                connection.request("POST", f"/api/v1/points?job={JOB}", body.encode(), {"Content-Type": "application/json"})
                reply = connection.getresponse()
                text = reply.read()
                if reply.status != 429:
                    break
                time.sleep(1)
            assert reply.status == 200, text
    connection.close()


def time_get(server, path, times=TIMES):
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        reply = server.get(path, timeout=120)
        took.append((time.perf_counter() - begin) * 1000)
        assert reply.status == 200, reply
    return {"ms": statistics.median(took), "first_ms": took[0]}


def covered(server):
    with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
        return database.execute("SELECT coalesce(sum(points), 0) FROM pyramids").fetchone()[0]


def time_start(server, how):
    server.signal(how)
    server.wait(600)
    server.process = None
    begin = time.monotonic()
    server.start()
    return time.monotonic() - begin


def measure_big(bench):
    share = QUICK_SHARE if bench.is_quick else 1
    text, points = TEXT_BYTES // share, POINTS // share // SERIES // BODY_POINTS * SERIES * BODY_POINTS
    bench.say(f"big: {text / 1e9:g} GB of text over {STREAMS} streams, {points / 1e6:g} M points")
    server, found = Server(bench.folder).start(), {"points": points}
    begin = time.monotonic()
    found["text"] = send_text(server, text)
    found["text_s"] = time.monotonic() - begin
    begin = time.monotonic()
    send_points(server, points)
    found["points_s"] = time.monotonic() - begin
    wait_until(lambda: covered(server) >= points - SERIES * UNCOVERED_POINTS, PATIENCE_S, "the pyramids")
    found["settle_s"] = harness.settle(server)
    found["rss_anon_mb"] = harness.memory_mb(server.process.pid, "RssAnon")
    found["killed_start_s"] = time_start(server, signal.SIGKILL)
    found["empty"] = time_get(server, "/healthz")
    found["chart"] = time_get(server, f"/api/v1/jobs/{JOB}/points?metric=loss&stream=algo-1&buckets=2000")
    found["fold"] = time_get(server, f"/api/v1/jobs/{JOB}/points?metric=loss&buckets=2000")
    found["rare"] = time_get(server, "/api/v1/jobs/text-0/logs/search?q=quokkaquokka&limit=50")
    found["first_hits"] = time_get(server, "/api/v1/jobs/text-0/logs/search?q=loss&limit=50&histogram=false")
    found["tail"] = time_get(server, "/api/v1/jobs/text-0/logs?limit=200")
    found["clean_start_s"] = time_start(server, signal.SIGTERM)
    server.stop()
    found["file_bytes"] = pathlib.Path(server.database).stat().st_size
    with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
        pages, free, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
    found["used_bytes"] = (pages - free) * size
    os.sync()
    return found


def report_big(found, bench):
    text, points = found["text"]["bytes"], found["points"]
    name = f"{text / 1e9:.2g} GB of text and {points / 1e6:g} M points"
    rows = [Line(f"{name}: database, used pages", f"{found['used_bytes'] / 1e6:.0f} MB ({found['file_bytes'] / 1e6:.0f} MB file)")]
    for key, what in (("chart", "chart of one series"), ("fold", f"chart of {SERIES} series folded"), ("rare", "search for a word that is not there"),
            ("first_hits", "first 50 hits of a common word"), ("tail", "last 200 lines")):
        rows.append(Line(f"  {what}", f"{found[key]['ms']:.2f} ms (empty request {found['empty']['ms']:.2f})"))
    rows.append(Line("  start after kill -9", f"{found['killed_start_s']:.2f} s", "", "", f"<= {START_S:g} s", found["killed_start_s"] <= START_S))
    rows.append(Line("  start after a stop", f"{found['clean_start_s'] * 1000:.0f} ms"))
    return rows


def tell_big(found, bench):
    return [f"big: text in {found['text_s']:.0f} s, points in {found['points_s']:.0f} s ({found['points'] / found['points_s'] / 1e6:.2f} M/s from one "
        f"connection in Python), sealed {found['settle_s']:.0f} s later, RssAnon then {found['rss_anon_mb']:.0f} MB"]


ROWS = [Row("big", measure_big, report_big, tell_big)]
