"""What grows, and what is asked beside it: each sweep makes a database of N things, and names the works whose cost is looked at."""

import json
import os
import subprocess
import time
from typing import Callable, NamedTuple

import harness
from growth_meter import Client, Work, settle
from rows_ingest import Subscribers
from smserver import Server, wait_until

T0 = 1_700_000_000_000
LINES, METRICS_A_STREAM, STREAMS_A_JOB = 20, 100, 10
WIDE = ("--max-streams", "20000", "--max-rules", "10000", "--max-subscribers", "20000", "--max-connections", "12000",
    "--max-connections-per-address", "0", "--rate-cpu-ms", "0", "--max-statuses", "100000", "--max-commands", "100000")


class Sweep(NamedTuple):
    name: str
    what: str
    sizes: tuple  # quick
    full_sizes: tuple
    prepare: Callable  # (server, size): starts it, and makes them
    works: list[Work]
    options: tuple = ()  # of the server


def lines_of(i, count=LINES):
    return "".join(f"step {i * count + n} loss {2 + n / 100:.2f} grad_norm 0.{n:02}\n" for n in range(count))


def points_of(metrics, stream, step):
    series = ",".join(f'{{"metric":"{metric}","stream":"{stream}","step":[{step}],"ts_ms":[{T0 + step * 1000}],"value":[{step % 7}.5]}}' for metric in metrics)
    return f'{{"series":[{series}]}}'


def send_lines(client, job, i, stream="algo-1", count=LINES):
    client.post(f"/api/v1/logs?job={job}&stream={stream}", lines_of(i, count), "text/plain")


def send_points(client, job, metrics, stream, step):
    client.post(f"/api/v1/points?job={job}", points_of(metrics, stream, step))


def make_job(client, name):
    client.post("/api/v1/jobs", json.dumps({"TrainingJobName": name, "HyperParameters": {"lr": "3e-4"}, "Tags": [{"Key": "team", "Value": "nlp"}]}))


def state(client, job, i):
    client.post(f"/api/v1/jobs/{job}/transitions", json.dumps({"SecondaryStatus": ("Downloading", "Training")[i % 2]}))


def begin(bench, sweep):
    """A server that is to be started by the sweep."""
    folder = bench.folder / sweep.name
    folder.mkdir()
    return Server(folder, *WIDE, *sweep.options)


def ready(server, *jobs):
    """It runs, and these jobs are there with a stream of a few lines."""
    client = Client(server)
    for job in jobs:
        make_job(client, job)
        send_lines(client, job, 0)
    settle(server)
    client.close()
    return server


def commit(client, size, i):
    send_lines(client, "live", i + 1)


COMMIT = Work("20 lines of one stream", commit, is_write=True)
JOB = Work("a job's document", lambda client, size, i: client.get("/api/v1/jobs/live") and 1)
CHART = Work("a chart of one metric", lambda client, size, i: client.get("/api/v1/jobs/live/points?metric=loss&buckets=500") and 1)
STATUS = Work("a status of one job", lambda client, size, i: state(client, "live", i), is_write=True, times=10)


# ---- jobs that have ended ----

def with_jobs(server, size):
    subprocess.run([harness.program("bench_jobs"), "--file", str(server.database), "--jobs", str(size), "--times", "1"], check=True,
        stdout=subprocess.DEVNULL)
    ready(server.start(), "live")


def search(query):
    return lambda client, size, i: client.get(f"/api/v1/jobs?limit=50&{query}") and 1


def search_behind_change(client, size, i):
    state(client, "live", i)
    client.get("/api/v1/jobs?limit=50&q=tag.team%3Dspeech&sort=-created")


JOBS = Sweep("jobs", "jobs that have ended", (1_000, 10_000, 30_000), (1_000, 10_000, 100_000, 1_000_000), with_jobs, [
    COMMIT, STATUS, JOB, CHART,
    Work("a new job", lambda client, size, i: make_job(client, f"new-{size}-{i}"), is_write=True),
    Work("the newest 50 jobs", search("sort=-created")),
    Work("jobs of a rare tag", search("q=tag.ticket%3DT-777"), 1, why="passes over columns in memory"),
    Work("50 jobs of a common tag, sorted by loss", search("q=tag.team%3Dnlp&sort=loss.final"), 1, why="passes over columns in memory"),
    Work("a status, and a search behind it", search_behind_change, 1, is_write=True, times=10, why="passes over columns in memory"),
    Work("the fleet's overview", lambda client, size, i: client.get("/api/v1/fleet") and 1),
    Work("/metrics", lambda client, size, i: client.get("/metrics") and 1),
])


# ---- jobs that run ----

def with_running(server, size):
    client = Client(server.start())
    for i in range(size):
        send_lines(client, f"run-{i}", 0)
    client.close()
    ready(server, "live")


RUNNING = Sweep("running", "jobs that run", (10, 100, 1_000), (10, 100, 1_000, 10_000), with_running, [
    COMMIT, STATUS, JOB, CHART,
    Work("the first lines of a new job", lambda client, size, i: send_lines(client, f"more-{size}-{i}", 0), is_write=True),
    Work("the newest 50 jobs", search("sort=-created")),
    Work("the fleet's overview", lambda client, size, i: client.get("/api/v1/fleet") and 1),
    Work("paces of running jobs", lambda client, size, i: client.get("/api/v1/fleet/paces") and 1, 1, why="all running jobs are asked for"),
], ("--goodput-every", "1h"))


# ---- streams of one job ----

def with_streams(server, size):
    client = Client(ready(server.start(), "live"))
    for i in range(size):
        send_lines(client, "live", 0, f"algo-{i + 2}", 2)
        if i < 2000 or i % 10 == 0:  # senders that hear commands
            client.post("/api/v1/sessions", json.dumps({"job": "live", "stream": f"algo-{i + 2}"}))
    client.close()
    settle(server)


def announce(client, size, i):
    send_lines(client, "live", 0, f"new-{i}", 1)


def command(client, size, i):
    client.post("/api/v1/jobs/live/commands", json.dumps({"command": "checkpoint"}))


STREAMS = Sweep("streams", "streams of one job", (10, 100, 1_000), (10, 100, 1_000, 10_000), with_streams, [
    COMMIT, STATUS, JOB,
    Work("the first line of a new stream", announce, is_write=True, times=4),
    Work("a command to one stream", lambda client, size, i: client.post("/api/v1/jobs/live/commands",
        json.dumps({"command": "checkpoint", "stream": "algo-2"})) and None, is_write=True, times=4),
    Work("a command to all streams", command, 1, is_write=True, times=4, why="all streams are asked for"),
    Work("a chart of one stream", lambda client, size, i: client.get("/api/v1/jobs/live/points?metric=loss&stream=algo-1&buckets=500") and 1),
    Work("a chart of all streams", lambda client, size, i: client.get("/api/v1/jobs/live/points?metric=loss&buckets=500") and 1, 1, times=5,
        why="all streams are asked for"),
    Work("the list of streams", lambda client, size, i: client.get("/api/v1/jobs/live/streams") and 1, 1, times=5, why="all streams are asked for"),
    Work("the last 200 lines of one stream", lambda client, size, i: client.get("/api/v1/jobs/live/logs?stream=algo-1&limit=200") and 1),
    Work("the last 200 lines of all streams", lambda client, size, i: client.get("/api/v1/jobs/live/logs?merge=true&limit=200") and 1, 1, times=5,
        why="all streams are asked for"),
])


# ---- series of all jobs ----

def with_series(server, size):
    client, metrics = Client(ready(server.start(), "live")), [f"metric_{n}" for n in range(METRICS_A_STREAM)]
    for at in range(0, size, METRICS_A_STREAM):
        stream = at // METRICS_A_STREAM
        send_points(client, f"job-{stream // STREAMS_A_JOB}", metrics, f"algo-{stream % STREAMS_A_JOB}", 1)
    client.close()
    settle(server)


SERIES = Sweep("series", "series of all jobs", (1_000, 10_000, 100_000), (1_000, 10_000, 100_000, 1_000_000), with_series, [
    COMMIT, JOB, CHART,
    Work("20 points of one series", lambda client, size, i: [send_points(client, "job-0", ["metric_0"], "algo-0", 100 + i)] and None, is_write=True),
    Work("100 points, one a series", lambda client, size, i: send_points(client, "job-0", [f"metric_{n}" for n in range(100)], "algo-0", 10_000 + i),
        is_write=True, times=5),
    Work("/metrics", lambda client, size, i: client.get("/metrics") and 1),
])


# ---- metrics of one job ----

def with_metrics(server, size):
    """At most 1000 a stream (--max-series)."""
    client = Client(ready(server.start(), "live"))
    for step in range(3):
        for first in range(0, size, 1000):
            send_points(client, "live", [f"m/{n}" for n in range(first, min(first + 1000, size))], f"rank-{first // 1000}", step)
    client.close()
    settle(server)


METRICS = Sweep("metrics", "metrics of one job", (10, 100, 1_000, 10_000), (10, 100, 1_000, 10_000, 100_000), with_metrics, [
    COMMIT, STATUS, JOB, CHART,
    Work("a point of one metric", lambda client, size, i: send_points(client, "live", ["m/0"], "rank-0", 100 + i), is_write=True),
    Work("the page", lambda client, size, i: client.get("/jobs/live") and 1),
    Work("a chart of one sent metric", lambda client, size, i: client.get("/api/v1/jobs/live/points?metric=m%2F0&buckets=500") and 1),
    Work("the list of series", lambda client, size, i: client.get("/api/v1/jobs/live/metrics") and 1, 1, times=4, why="all metrics are asked for"),
])


# ---- a log ----

def with_log(server, megabytes):
    server.start()
    harness.end_load(harness.start_load(server, "log", 3600, ("bulk", "--connections", 1, "--text-mib", min(64, max(1, megabytes // 2)), "--bytes", int(megabytes * 1e6))))
    settle(server)
    wait_until(lambda: harness.read_metrics(server)["journal_bytes"] < 4 << 20, 600, "the seal")
    server.restart()  # first openings
    ready(server, "live")


def stream_of_log(client):
    return json.loads(client.get("/api/v1/jobs/log-0/streams"))["streams"][0]


def log_page(client, size, i):
    stream = stream_of_log(client)
    client.get(f"/api/v1/jobs/log-0/logs?stream={stream['stream']}&from={stream['lines'] * (i % 19) // 20}&limit=200")


def chart_of_log(client, size, i):
    """Each body of the load is a stream of its own: a chart of all would ask for more of them as the log grows."""
    client.get("/api/v1/jobs/log-0/points?metric=loss&buckets=500&stream=algo-1")


def look_for(word, options=""):
    return lambda client, size, i: client.get(f"/api/v1/jobs/log-0/logs/search?q={word}&limit=50{options}") and 1


LOG = Sweep("log", "megabytes of one log", (10, 100, 1_000), (10, 100, 1_000, 10_000), with_log, [
    COMMIT,
    Work("its job", lambda client, size, i: client.get("/api/v1/jobs/log-0") and 1),
    Work("the last 200 lines", lambda client, size, i: client.get("/api/v1/jobs/log-0/logs?limit=200&merge=true") and 1),
    Work("200 lines anywhere", log_page),
    Work("a chart of one of its streams", chart_of_log),
    Work("the first 50 hits of a common word", look_for("loss", "&histogram=false"), times=5),
    Work("a word that is nowhere", look_for("quokkaquokka"), 1, times=5, why="all of the log is asked, by its filters"),
], ("--seal-age", "2s", "--search-ms", "600000", "--search-cpu-ms", "600000"))


# ---- subscribers ----

def with_subscribers(server, size):
    ready(server.start(), "live", "other")
    server.live_ends = Subscribers(server, size, "jobs=other&kinds=points,job,incident")


def to_all(client, size, i):
    send_lines(client, "other", i + 1)
    time.sleep(0.06)  # the publisher's tick: an event of its own each
    return size


SUBSCRIBERS = Sweep("subscribers", "subscribers of another job", (10, 100, 1_000), (10, 100, 1_000, 5_000), with_subscribers, [
    COMMIT, JOB,
    Work("an event, a subscriber", to_all, is_write=True, times=5),
])


# ---- rules ----

def add_rules(client, size, expression):
    for i in range(size):
        client.post("/api/v1/rules", json.dumps({"name": f"rule-{i}", "expression": expression(i), "query": "tag.team=nobody"}))


def with_rules(server, size):
    client = Client(ready(server.start(), "live"))
    add_rules(client, size, lambda i: f"accuracy_{i} > {i} for 5 points")
    client.close()


def with_rules_of_it(server, size):
    client = Client(ready(server.start(), "live"))
    add_rules(client, size, lambda i: f"loss > {100 + i} for 5 points")
    client.close()


RULES_LIST = Work("the list of rules", lambda client, size, i: client.get("/api/v1/rules") and 1, 1, times=5, why="all rules are asked for")
FIRST = Work("the first lines of a new job", lambda client, size, i: send_lines(client, f"more-{size}-{i}", 0), is_write=True)
RULES = Sweep("rules", "rules about other metrics", (1, 10, 100, 1_000), (1, 10, 100, 1_000, 5_000), with_rules, [COMMIT, JOB, FIRST, RULES_LIST])
RULES_OF_IT = Sweep("rules-of-it", "rules about the metric", (1, 10, 100, 1_000), (1, 10, 100, 1_000, 5_000), with_rules_of_it, [
    Work("20 points, all rules look at each", commit, 1, is_write=True, times=5, why="each rule looks at each point"), JOB])

SWEEPS = [JOBS, RUNNING, STREAMS, SERIES, METRICS, LOG, SUBSCRIBERS, RULES, RULES_OF_IT]
