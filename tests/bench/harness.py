"""What the rows share: the programs that are measured, what the server says of itself while it works, CPU and memory."""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("SM_BUILD_DIR", str(ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "tests/support"))

from smserver import build_folder, wait_until  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()
GB, MB = 1e9, 1e6
JOBS = 4
CHART_POINTS, CHART_BUCKETS, CHART_TIMES = 1_000_000, 2000, 40
SAMPLE_S, CATCH_UP_S, SYNC_TIMES = 0.25, 120, 300


# ---- processes ----

def program(name):
    path = build_folder() / "tests/bench" / name
    if not path.is_file():
        sys.exit(f"{path} is not there; build it: cmake --preset release && cmake --build --preset release")
    return str(path)


def process_cpu(pid):
    """Seconds of user and system time so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def machine_cpu():
    """Busy seconds of all processors so far."""
    fields = [int(text) for text in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def memory_mb(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024 / MB
    return 0.0


def run_limit(folder, mib):
    output = subprocess.run([program("bench_limit"), "--mib", str(mib), "--file", str(folder / "limit.db")], check=True,
        stdout=subprocess.PIPE).stdout
    return json.loads(output)


def run_small_limit(folder, how, seconds, arguments):
    """The limit of small posts under the load client's "small": its figures, and the CPU microseconds that a request cost it."""
    with subprocess.Popen([program("bench_small_limit"), how, "--file", str(folder / "small-limit.db")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True) as limit:
        port = limit.stdout.readline().strip()
        mode, *rest = arguments
        subprocess.run([program("bench_load"), mode, "--port", port, "--job", "limit", "--seconds", str(seconds), *map(str, rest)], check=True,
            stdout=subprocess.DEVNULL)
        figures = json.loads(limit.communicate()[0])
    return {**figures, "cpu_us": figures["cpu_seconds"] / figures["requests"] * 1e6}


def measure_sync(folder):
    """Milliseconds that a durable write of two pages takes, the middle of many: what a commit waits for at least."""
    took, pages = [], bytes(2 * 8192)
    with open(folder / "sync", "wb", buffering=0) as file:
        for _ in range(SYNC_TIMES):
            file.write(pages)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - start)
    return statistics.median(took) * 1000


def definitions():
    return json.loads(subprocess.run([program("bench_limit"), "--definitions"], check=True, stdout=subprocess.PIPE).stdout)


def start_load(server, prefix, seconds, arguments, metric_definitions=None):
    """The load client: "bulk" or "small" and its options. Writes to the jobs PREFIX-0, …; see load.c."""
    create_jobs(server, prefix, JOBS, metric_definitions)
    mode, *rest = arguments
    return subprocess.Popen([program("bench_load"), mode, "--port", str(server.port), "--job", prefix, "--seconds", str(seconds),
        *map(str, rest)], stdout=subprocess.PIPE)


def end_load(load):
    output = load.communicate()[0]
    return json.loads(output)


def create_jobs(server, prefix, count, metric_definitions=None):
    specification = {"MetricDefinitions": definitions() if metric_definitions is None else metric_definitions}
    for i in range(count):
        document = {"TrainingJobName": f"{prefix}-{i}", "AlgorithmSpecification": specification}
        reply = server.post("/api/v1/jobs", json=document)
        assert reply.status == 201, reply


# ---- what the server says of itself while it works ----

def read_metrics(server):
    values = {}
    for line in server.get("/metrics").body.splitlines():
        name, _, value = line.partition(" ")
        if name.startswith("smfleet_"):
            values[name.removeprefix("smfleet_")] = float(value)
    return values


class Sampler:
    """Reads /metrics again and again beside a load."""

    def __init__(self, server):
        self.server, self.samples, self.is_over = server, [], threading.Event()
        self.peak_mb = 0.0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.is_over.wait(SAMPLE_S):
            try:
                values = read_metrics(self.server)
                self.peak_mb = max(self.peak_mb, memory_mb(self.server.process.pid, "RssAnon"))
            except (OSError, KeyError):
                continue
            self.samples.append((time.monotonic(), values))

    def end(self):
        self.is_over.set()
        self.thread.join()

    def lag_s(self):
        """The longest time between a commit and its extraction, by the sequence numbers of both."""
        return max((self._lag_at(i) for i in range(len(self.samples))), default=0.0)

    def _lag_at(self, at):
        now, values = self.samples[at]
        extracted = values["extracted_seq"]
        if values["committed_seq"] <= extracted:
            return 0.0
        for i in range(at, -1, -1):
            then, earlier = self.samples[i]
            if earlier["committed_seq"] <= extracted:
                until, later = self.samples[min(i + 1, at)]
                steps = later["committed_seq"] - earlier["committed_seq"]
                share = (extracted - earlier["committed_seq"]) / steps if steps else 0
                return now - (then + share * (until - then))
        return now - self.samples[0][0]

    def journal(self):
        """Mean bytes of the journal in the second and in the last third, and the most."""
        debts = [values["journal_bytes"] for _, values in self.samples]
        third = max(1, len(debts) // 3)
        return {"middle_mb": statistics.mean(debts[third:2 * third] or [0]) / MB, "late_mb": statistics.mean(debts[-third:] or [0]) / MB,
            "peak_mb": max(debts, default=0) / MB, "wal_peak_mb": max((values["wal_bytes"] for _, values in self.samples), default=0) / MB}


def is_caught_up(server):
    values = read_metrics(server)
    return values["extracted_seq"] >= values["committed_seq"]


def settle(server):
    """Waits until the sealer has worked off what a load left, so that the next one does not pay for it. Seconds."""
    start, before = time.monotonic(), None
    while time.monotonic() < start + CATCH_UP_S:
        sealed = read_metrics(server)["sealed_lines_total"]
        if sealed == before:
            break
        before = sealed
        time.sleep(1)
    return time.monotonic() - start


def stop_and_count(server):
    """A stop seals what is left. The process's seconds of user and system time, from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    server.stop(CATCH_UP_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_load(server, prefix, seconds, arguments, metric_definitions=None):
    """One load from start to the moment when everything of it is extracted."""
    pid = server.process.pid
    before, busy = process_cpu(pid), machine_cpu()
    metrics_before = read_metrics(server)
    sampler, start = Sampler(server), time.monotonic()
    result = end_load(start_load(server, prefix, seconds, arguments, metric_definitions))
    acknowledged = time.monotonic()
    wait_until(lambda: is_caught_up(server), CATCH_UP_S, "extraction to catch up")
    caught_up = time.monotonic()
    server_cpu, busy = process_cpu(pid) - before, machine_cpu() - busy
    sampler.end()
    metrics = read_metrics(server)
    return {**result, "catch_up_s": caught_up - acknowledged, "server_cpu_seconds": server_cpu,
        "server_cpu_before": before, "other_cpu_seconds": max(0.0, busy - server_cpu - result["cpu_seconds"]), "wall_s": caught_up - start,
        "lag_s": sampler.lag_s(), "journal": sampler.journal(), "rss_peak_mb": sampler.peak_mb,
        "server": {name: metrics[name] - metrics_before[name] for name in ("lines_total", "points_total", "commits_total",
            "commit_seconds_total", "batches_total", "sealed_lines_total", "refused_busy_total", "incidents_total")}}
