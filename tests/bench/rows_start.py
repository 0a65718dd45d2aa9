"""Starts: after kill -9 in the middle of a load, and on a large database that was stopped cleanly."""

import time

from harness import GB, end_load, measure_load, settle, start_load
from rows_ingest import LOADS
from smserver import Server
from table import Line, Row

KILLED_S, CLEAN_S, KILL_AFTER_S = 1.0, 0.1, 10
FILL_PART_S = 20


def stored_lines(server, prefix):
    count = 0
    for row in server.get("/api/v1/jobs?limit=100").body["jobs"]:
        if row["TrainingJobName"].startswith(prefix + "-"):
            streams = server.get(f"/api/v1/jobs/{row['TrainingJobName']}/streams").body["streams"]
            count += sum(stream["lines"] for stream in streams)
    return count


def measure_killed(bench):
    """kill -9 while both loads run; the time from the new process to its port, and that nothing acknowledged is gone."""
    seconds = min(bench.seconds, KILL_AFTER_S)
    bench.say(f"start: kill -9 after {seconds} s of both loads")
    server = Server(bench.folder).start()
    loads = {kind: start_load(server, kind, 3600, LOADS[kind]) for kind in ("bulk", "small")}
    time.sleep(seconds)
    server.kill()
    results = {kind: end_load(load) for kind, load in loads.items()}
    start = time.monotonic()
    server.start()
    took = time.monotonic() - start
    stored = {kind: stored_lines(server, kind) for kind in loads}
    server.stop()
    return {"seconds": took, "acknowledged_lines": {kind: one["lines"] for kind, one in results.items()}, "stored_lines": stored,
        "lost_lines": sum(max(0, results[kind]["lines"] - stored[kind]) for kind in loads)}


def report_killed(start, bench):
    return [
        Line("start after kill -9 under load", f"{start['seconds']:.2f} s", "", "", f"<= {KILLED_S:g} s", start["seconds"] <= KILLED_S),
        Line("acknowledged lines lost by it", str(start["lost_lines"]), "", "", "0", start["lost_lines"] == 0),
    ]


def measure_clean(bench):
    """A database of --start-gb: filled by bulk bodies, stopped, started."""
    server = Server(bench.folder).start()
    part = 0
    while server.database.stat().st_size < bench.options.start_gb * GB:
        bench.say(f"start-clean: {server.database.stat().st_size / GB:.2f} of {bench.options.start_gb:g} GB")
        measure_load(server, f"fill{part}", FILL_PART_S, LOADS["bulk"])
        settle(server)
        part += 1
    server.stop()
    times = []
    for _ in range(3):
        start = time.monotonic()
        server.start()
        times.append(time.monotonic() - start)
        server.stop()
    return {"seconds": times, "database_bytes": server.database.stat().st_size}


def report_clean(start, bench):
    took = min(start["seconds"])
    return [Line(f"start on a database of {start['database_bytes'] / GB:.1f} GB", f"{took * 1000:.0f} ms", "", "",
        f"<= {CLEAN_S * 1000:g} ms", took <= CLEAN_S)]


ROWS = [Row("start", measure_killed, report_killed), Row("start-clean", measure_clean, report_clean)]
