"""Back-fill: a stored log extracted again by 6 and by 40 definitions, alone and beside live ingest."""

import time

from harness import MB, create_jobs, definitions, end_load, measure_load, settle, start_load
from smserver import Server, wait_until
from table import Line, Row

TEXT_BYTES, QUICK_SHARE, PATIENCE_S, LIVE_S = 1_000_000_000, 4, 1800, 8
LIVE = ("small", "--connections", 4, "--jobs", 1, "--lines", 20) # about half of what the server takes of such bodies
TARGETS = {6: 150, 40: 60} # MB/s
P99_TIMES = 2
JOB = "text-0"


def forty():
    """The bench's own six, and names as SageMaker's examples have them."""
    more = [{"Name": f"validation:metric{i}", "Regex": rf"#quality_metric: host=algo-{i}, validation metric{i} <score>=\((\S+)\)"}
        for i in range(34)]
    return definitions() + more


def fill(server, size):
    load = start_load(server, "text", 3600, ("bulk", "--connections", 4, "--bytes", size))
    end_load(load)
    settle(server)


def backfill(server, job, wanted):
    """Seconds from the request to the change, and the text of it."""
    wait_until(lambda: server.get(f"/api/v1/jobs/{job}/definitions").body["backfill"] is None or
        server.get(f"/api/v1/jobs/{job}/definitions").body["backfill"]["state"] != "running", PATIENCE_S, "an older back-fill")
    start = time.monotonic()
    reply = server.put(f"/api/v1/jobs/{job}/definitions?backfill=true", json={"definitions": wanted}, timeout=60)
    assert reply.status == 202, reply

    def is_done():
        found = server.get(f"/api/v1/jobs/{job}/definitions").body["backfill"]
        assert found["state"] in ("running", "done"), found
        return found if found["state"] == "done" else None
    done = wait_until(is_done, PATIENCE_S, "the back-fill")
    return {"seconds": time.monotonic() - start, "bytes": done["bytes"], "lines": done["lines"]}


def measure(bench):
    size = TEXT_BYTES // (QUICK_SHARE if bench.is_quick else 1)
    server = Server(bench.folder).start()
    bench.say(f"back-fill: {size / MB:.0f} MB of text")
    fill(server, size)
    jobs = [row["TrainingJobName"] for row in server.get("/api/v1/jobs?limit=10").body["jobs"]]
    found = {"alone": {}}
    # a job each: what a back-fill replaced is taken away some seconds later, and the next of that job waits for it
    for (count, wanted), job in zip({6: definitions(), 40: forty()}.items(), jobs):
        bench.say(f"back-fill: {count} definitions")
        found["alone"][count] = backfill(server, job, wanted)
    bench.say("back-fill: live ingest without it and beside it")
    without = measure_load(server, "without", LIVE_S, LIVE)
    load = start_load(server, "beside", LIVE_S, LIVE)
    beside = backfill(server, jobs[2], definitions())
    live = end_load(load)
    server.stop()
    return {**found, "beside": beside, "without_p99_ms": without["p99_ms"], "beside_p99_ms": live["p99_ms"],
        "without_lines_per_s": without["lines_per_s"], "beside_lines_per_s": live["lines_per_s"]}


def speed(one):
    return one["bytes"] / one["seconds"] / MB


def report(found, bench):
    lines = []
    for count, target in TARGETS.items():
        figure = speed(found["alone"].get(count) or found["alone"][str(count)])
        lines.append(Line(f"back-fill, {count} definitions", f"{figure:.0f} MB/s", "", "", f">= {target} MB/s", figure >= target))
    beside = speed(found["beside"])
    lines.append(Line("back-fill, 6 definitions, beside live ingest", f"{beside:.0f} MB/s", "", "", ">= 150 MB/s", beside >= 150))
    ratio = found["beside_p99_ms"] / found["without_p99_ms"]
    lines.append(Line("live ingest beside it: p99", f"{found['beside_p99_ms']:.1f} ms", f"{found['without_p99_ms']:.1f} ms without",
        f"{ratio:.2f}", f"<= {P99_TIMES}", ratio <= P99_TIMES))
    return lines


ROWS = [Row("backfill", measure, report)]
