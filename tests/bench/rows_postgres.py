"""On PostgreSQL, and on PostgreSQL that is 0.5 ms further away, against a file of SQLite: by turns, and the medians of the turns count."""

import contextlib
import json
import signal
import statistics
import subprocess
import time

import harness
from harness import MB, program
from postgres import Cluster
from rows_ingest import LOADS
from smserver import Server, wait_until
from table import Line, Row

TURNS, QUICK_S, DELAY_US, TIMEOUT_S = 3, 3, 500, 600
WARM_SEARCHES, SEARCHES, JOBS = 60, 300, 200
SEAL = (*LOADS["wide"], "--bytes")
SEAL_BYTES, QUICK_SEAL_BYTES = 128 << 20, 32 << 20
NEVER = ("--seal-bytes", "4GiB", "--seal-age", "1h", "--journal-bytes", "8GiB")
RATIO = {"small": 0.8, "bulk": 0.85}
SYNCHRONOUS = {"small": 0.6, "bulk": 0.8}


class Away:
    """A Cluster that is a round trip of DELAY_US away."""

    def __init__(self, cluster, process):
        port = int(process.stdout.readline())
        self.url = f"postgresql://sm@127.0.0.1:{port}/postgres?sslmode=disable"
        self.folder = cluster.folder


@contextlib.contextmanager
def away(cluster, us=DELAY_US):
    command = [program("bench_delay"), "--to", f"{cluster.folder}/.s.PGSQL.5432", "--us", str(us)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Away(cluster, process)
        process.stdin.close()


SETTINGS = ("shared_buffers=256MB", "max_wal_size=4GB")


def cluster_in(bench, name, *settings, replica_of=None):
    folder = bench.folder / name
    folder.mkdir()
    for above in (bench.folder, bench.folder.parent):
        above.chmod(0o711)  # the server is another user's
    return Cluster([*SETTINGS, *settings], folder=folder, is_durable=True, replica_of=replica_of)


@contextlib.contextmanager
def replicated(bench):
    """One whose commits wait for a standby on the same machine."""
    with cluster_in(bench, "first") as primary, cluster_in(bench, "second", "cluster_name=second", replica_of=primary):
        primary.psql("ALTER SYSTEM SET synchronous_standby_names = 'second'; SELECT pg_reload_conf()")
        wait_until(lambda: primary.psql("SELECT sync_state FROM pg_stat_replication").strip() == "sync", what="a synchronous standby")
        yield primary


@contextlib.contextmanager
def places(bench, with_standby=False):
    """name: what Server takes as postgres. Nothing is left out of what makes a commit durable."""
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(cluster_in(bench, "pg"))
        found = {"sqlite": None, "near": cluster, "away 0": stack.enter_context(away(cluster, 0)), "away": stack.enter_context(away(cluster))}
        if with_standby:
            found["standby"] = stack.enter_context(replicated(bench))
        yield found


class Late(Exception):
    pass


def in_time(measure):
    """One that fails, or takes too long, says so in its place in the table: the rows behind it are measured all the same."""
    def late(*_):
        raise Late(f"not done within {TIMEOUT_S} s")

    def run(bench):
        signal.signal(signal.SIGALRM, late)
        signal.alarm(TIMEOUT_S)
        try:
            return measure(bench)
        except (Late, AssertionError, RuntimeError, OSError, subprocess.CalledProcessError) as failure:
            bench.say(f"failed: {failure}")
            return {"failed": str(failure)}
        finally:
            signal.alarm(0)
    return run


def by_turns(bench, what, measure_one, with_standby=False):
    """{place: [figures of each turn]}; each is said as it comes."""
    found = {}
    with places(bench, with_standby) as all_places:
        for turn in range(TURNS):
            for name, place in all_places.items():
                folder = bench.folder / f"{name.replace(' ', '_')}_{turn}"
                folder.mkdir()
                figures = measure_one(folder, place)
                found.setdefault(name, []).append(figures)
                bench.say(f"{what} {turn + 1}/{TURNS}, {name}: {json.dumps(figures)}")
    return found


def seconds(bench):
    return QUICK_S if bench.is_quick else bench.seconds / TURNS


def middle(turns, key):
    return statistics.median(one[key] for one in turns)


def line(what, found, key, place, base, target, less=False, unit=""):
    mine, other = middle(found[place], key), middle(found[base], key)
    ratio = mine / other
    is_met = ratio <= target if less else ratio >= target
    return Line(f"PostgreSQL, {what}", f"{mine:.4g}{unit}", f"{other:.4g}{unit}", f"{ratio:.2f}", f"{'<=' if less else '>='} {target}", is_met)


# ---- loads ----

def measure_ingest(kind):
    def run(bench):
        def one(folder, place):
            server = Server(folder, postgres=place).start()
            load = harness.measure_load(server, kind, seconds(bench), LOADS[kind])
            server.kill()
            commits = max(1, load["server"]["commits_total"])
            return {"lines_per_s": load["lines_per_s"], "mb_per_s": load["bytes_per_s"] / MB, "refused": load["refused"],
                "commit_ms": load["server"]["commit_seconds_total"] / commits * 1000, "p50_ms": load["p50_ms"]}
        return by_turns(bench, kind, one, with_standby=True)
    return in_time(run)


def report_ingest(kind):
    key, unit = ("mb_per_s", " MB/s") if kind == "bulk" else ("lines_per_s", "/s")

    def report(found, bench):
        return [line(f"{kind}, of SQLite's", found, key, "near", "sqlite", RATIO[kind], unit=unit),
            line(f"{kind}, with a synchronous standby", found, key, "standby", "sqlite", SYNCHRONOUS[kind], unit=unit),
            line(f"{kind}, 0.5 ms away, of local", found, key, "away", "away 0", 0.9, unit=unit)]
    return report


def measure_seal(bench):
    def one(folder, place):
        server = Server(folder, *NEVER, postgres=place).start()
        size = QUICK_SEAL_BYTES if bench.is_quick else SEAL_BYTES
        load = harness.measure_load(server, "seal", 60, (*SEAL, size))
        wait_until(lambda: harness.is_caught_up(server), harness.CATCH_UP_S, "extraction")
        start = time.monotonic()
        server.stop(harness.CATCH_UP_S)
        took = time.monotonic() - start
        return {"seal_s": took, "lines_per_s": load["lines"] / took}
    return by_turns(bench, "seal", one)


def report_seal(found, bench):
    return [line("sealing at a stop, 1024 streams, of SQLite's", found, "lines_per_s", "near", "sqlite", 0.5, unit="/s"),
        line("the same, 0.5 ms away, of local", found, "lines_per_s", "away", "away 0", 0.8, unit="/s")]


# ---- the store's verbs ----

def measure_store(bench):
    def one(folder, place):
        length = ["--seconds", str(1 if bench.is_quick else 5)]
        database = ["--db", str(folder / "smfleet.db")]
        if place:
            # of a schema of its own; the bare INSERT goes the same way
            database = ["--db", place.url, "--schema", f"bench_{folder.name}", "--bare", place.url]
        output = subprocess.run([program("bench_store"), *database, *length], check=True, stdout=subprocess.PIPE, cwd=folder).stdout
        return json.loads(output)
    return by_turns(bench, "store", one)


def report_store(found, bench):
    times = {"near": [{"us": one["commit_us"], "read_us": one["read_us"]} for one in found["near"]],
        "bare": [{"us": one["bare_us"], "read_us": one["bare_read_us"]} for one in found["near"]]}
    return [line("BEGIN to acknowledgement, of a bare INSERT", times, "us", "near", "bare", 1.7, less=True, unit=" us"),
        line("a log block read, of SQLite's", found, "read_us", "near", "sqlite", 4, less=True, unit=" us"),
        line("the same, of a bare SELECT", times, "read_us", "near", "bare", 1.25, less=True, unit=" us"),
        line("500 blocks put, 0.5 ms away, of local", found, "put_ms", "away", "away 0", 1.25, less=True, unit=" ms")]


# ---- searches ----

def measure_search(bench):
    def one(folder, place):
        server = Server(folder, postgres=place).start()
        for i in range(JOBS):
            server.post("/api/v1/jobs", json={"TrainingJobName": f"search-{i}", "HyperParameters": {"lr": str(i / 1000)},
                "Tags": [{"Key": "team", "Value": f"t{i % 7}"}]})
        took = []
        for i in range(WARM_SEARCHES):  # each reader has its connection and its statements
            server.get(f"/api/v1/jobs?q=tag.team%3Dt{i % 7}")
        for i in range(SEARCHES):
            start = time.perf_counter()
            reply = server.get(f"/api/v1/jobs?q=tag.team%3Dt{i % 7}")
            took.append((time.perf_counter() - start) * 1000)
            assert reply.status == 200, reply
        server.kill()
        took.sort()
        return {"p50_ms": took[SEARCHES // 2], "p99_ms": took[SEARCHES * 99 // 100]}
    return by_turns(bench, "search", one)


def report_search(found, bench):
    mine, near, file = (middle(found[name], "p99_ms") for name in ("away", "near", "sqlite"))
    limit = file + DELAY_US / 1000
    return [Line("PostgreSQL, job search, p99", f"{near:.2f} ms", f"{file:.2f} ms"),
        Line("the same, 0.5 ms away, of SQLite's and a round trip", f"{mine:.2f} ms", f"{limit:.2f} ms", f"{mine / limit:.2f}", "<= 1",
            mine <= limit)]


def unless_failed(name, report):
    return lambda found, bench: [Line(name, "failed", is_met=False)] if "failed" in found else report(found, bench)


ROWS = [Row(name, measure, unless_failed(name, report)) for name, measure, report in [
    ("postgres-store", in_time(measure_store), report_store),
    ("postgres-small", measure_ingest("small"), report_ingest("small")),
    ("postgres-bulk", measure_ingest("bulk"), report_ingest("bulk")),
    ("postgres-seal", in_time(measure_seal), report_seal),
    ("postgres-search", in_time(measure_search), report_search),
]]
