"""Ingest: bulk, small batches, many streams, subscribers and memory beside them."""

import contextlib
import select
import socket
import threading
import time

from harness import CORES, GB, JOBS, MB, measure_load, memory_mb, run_small_limit, settle, stop_and_count
from smserver import Server
from table import Line, Row

SMALL_CONNECTIONS, LINES, WIDE_STREAMS, SUBSCRIBERS = 32, 20, 1024, 100
BULK_RATIO, SMALL_LINES_PER_S, LAG_S, MEMORY_MB = 0.6, 600_000, 1.0, 96
FLAT_MB = 64 # the sealer begins at 16 MiB and works in steps; below a quarter of the journal's limit nothing is told
READ_BYTES = 1 << 18
CPU_RATIO, SMALL_LIMIT_S = 0.7, 10
PRESETS_BYTES, PRESETS_S, PRESETS_S_A_GB = 200_000_000, 600, 25
GIVE_BACK_S = 5 # within so long of silence the server returns what a load needed

SMALL = ("small", "--connections", SMALL_CONNECTIONS, "--jobs", JOBS, "--lines", LINES)
LOADS = {
    "bulk": ("bulk", "--connections", JOBS),
    "small": SMALL,
    "wide": (*SMALL, "--streams", WIDE_STREAMS),
    "subscribers": (*SMALL, "--streams", WIDE_STREAMS),
}


class Subscribers:
    """Connections to the event stream, read and thrown away by one thread."""

    def __init__(self, server, count, query="kinds=points,job,incident"):
        self.ends = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
        self.bytes, self.closed, self.is_over = 0, 0, threading.Event()
        for end in self.ends:
            end.sendall(f"GET /api/v1/live?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            end.setblocking(False)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        poll, ends = select.epoll(), {end.fileno(): end for end in self.ends}
        for number in ends:
            poll.register(number, select.EPOLLIN)
        while not self.is_over.wait(0.02): # as a browser: what came since the last look, together
            for number, _ in poll.poll(0, len(ends) + 1):
                with contextlib.suppress(BlockingIOError):
                    data = ends[number].recv(READ_BYTES)
                    self.bytes += len(data)
                    if not data:
                        self.closed += 1
                        poll.unregister(number)
        poll.close()

    def end(self):
        self.is_over.set()
        self.thread.join()
        for end in self.ends:
            end.close()


def measure(kind, subscribers=0):
    def run(bench):
        bench.say(f"{kind}: {bench.seconds:g} s")
        server = Server(bench.folder).start()
        live = Subscribers(server, subscribers)
        figures = measure_load(server, kind, bench.seconds, LOADS[kind])
        figures["settle_s"] = settle(server)
        time.sleep(GIVE_BACK_S)
        figures["rss_after_mb"] = memory_mb(server.process.pid, "RssAnon")
        live.end()
        figures["sealed_cpu_seconds"] = stop_and_count(server) - figures["server_cpu_before"]
        if kind == "small":
            figures["small_limit"] = {how: run_small_limit(bench.folder, how, min(SMALL_LIMIT_S, bench.seconds), SMALL)
                for how in ("suspended", "threads")}
        return {**figures, "subscribers": subscribers, "event_bytes": live.bytes, "subscribers_closed": live.closed}
    return run


def report(kind, title, with_memory=True):
    def lines(load, bench):
        limit = bench.found["limit"]
        journal = load["journal"]
        is_flat = journal["late_mb"] <= max(1.2 * journal["middle_mb"], FLAT_MB) and not load["refused"]
        result = [
            report_bulk(title, load, limit) if kind == "bulk" else report_small(title, load, limit),
            Line(f"{kind}: extraction behind the commits", f"{load['lag_s']:.2f} s", "", "", f"<= {LAG_S:g} s", load["lag_s"] <= LAG_S),
            Line(f"{kind}: journal debt, middle and last third", f"{journal['middle_mb']:.0f}, {journal['late_mb']:.0f} MB", "", "", "flat",
                is_flat),
            Line(f"{kind}: line to acknowledgement, p50, p99, p99.9", f"{load['p50_ms']:.1f}, {load['p99_ms']:.1f}, {load['p999_ms']:.1f} ms"),
        ]
        if "small_limit" in load:
            best = min(one["cpu_us"] for one in load["small_limit"].values())
            ours = load["sealed_cpu_seconds"] / load["requests"] * 1e6
            result.append(Line(f"{kind}: CPU of a request, until it is sealed", f"{ours:.0f} us", f"{best:.0f} us", f"{best / ours:.2f}",
                f">= {CPU_RATIO}", best / ours >= CPU_RATIO))
        if with_memory:
            result.append(Line(f"{kind}: memory (RssAnon) at most; after it", f"{load['rss_peak_mb']:.0f}; {load['rss_after_mb']:.0f} MB", "",
                "", f"<= {MEMORY_MB} MB", load["rss_peak_mb"] <= MEMORY_MB))
        return result
    return lines


def report_bulk(title, load, limit):
    ratio = load["bytes_per_s"] / limit["bytes_per_s"]
    return Line(title, f"{load['bytes_per_s'] / MB:.0f} MB/s", f"{limit['bytes_per_s'] / MB:.0f} MB/s", f"{ratio:.2f}",
        f">= {BULK_RATIO}", ratio >= BULK_RATIO)


def report_small(title, load, limit):
    lines = load["lines_per_s"]
    return Line(title, f"{lines / 1000:.0f} k lines/s", f"{limit['lines_per_s'] / 1000:.0f} k lines/s",
        f"{lines / limit['lines_per_s']:.2f}", f">= {SMALL_LINES_PER_S // 1000} k lines/s", lines >= SMALL_LINES_PER_S)


def tell(kind):
    def details(load, bench):
        limit = bench.found["limit"]
        gigabytes = load["bytes"] / GB
        per_gb = limit["cpu_seconds"] / (limit["bytes"] / GB)
        server, extracted = load["sealed_cpu_seconds"] / gigabytes, load["server_cpu_seconds"] / gigabytes
        return [
            f"{kind}: CPU seconds a GB: server {server:.2f} until all is sealed ({extracted:.2f} until it is extracted), "
            f"client {load['cpu_seconds'] / gigabytes:.2f}; limit/server {per_gb / server:.2f}; "
            f"others used {load['other_cpu_seconds'] / (CORES * load['wall_s']):.0%} of the machine",
            *(f"    the limit of small posts, {how}: {one['cpu_us']:.0f} us of CPU a request, {one['requests']} in {one['groups']} groups"
                for how, one in load.get("small_limit", {}).items()),
            f"    {load['requests']} requests, {load['requests_per_s']:.0f}/s; {load['refused']} times 429, {load['failed']} failed, "
            f"{load['broken']} broken; caught up after {load['catch_up_s']:.2f} s",
            f"    {load['server']['commits_total']:.0f} commits, journal at most {load['journal']['peak_mb']:.0f} MB, "
            f"sealed {load['settle_s']:.0f} s after the end, WAL {load['journal']['wal_peak_mb']:.0f} MB; "
            f"{load['subscribers']} subscribers read {load['event_bytes'] / MB:.0f} MB, {load['subscribers_closed']} were ended",
        ]
    return details


def measure_presets(bench):
    """As bulk, but for jobs without definitions, as most are: presets and the generic reader read their lines."""
    bench.say("presets")
    server = Server(bench.folder).start()
    figures = measure_load(server, "presets", PRESETS_S, (*LOADS["bulk"], "--bytes", PRESETS_BYTES), [])
    stop_and_count(server)
    return figures


def report_presets(load, bench):
    per_gb = load["server_cpu_seconds"] / (load["bytes"] / GB)
    return [Line("bulk without definitions, until it is extracted", f"{per_gb:.1f} CPU s/GB", "", "", f"<= {PRESETS_S_A_GB}",
        per_gb <= PRESETS_S_A_GB)]


ROWS = [
    Row("bulk", measure("bulk"), report("bulk", f"durable ingest, {JOBS} connections"), tell("bulk")),
    Row("presets", measure_presets, report_presets),
    Row("small", measure("small"), report("small", f"small batches, {SMALL_CONNECTIONS} clients x {LINES} lines"), tell("small")),
    Row("wide", measure("wide"), report("wide", f"small batches, {WIDE_STREAMS} streams"), tell("wide")),
    Row("subscribers", measure("subscribers", SUBSCRIBERS),
        report("subscribers", f"small batches, {WIDE_STREAMS} streams, {SUBSCRIBERS} subscribers"), tell("subscribers")),
]
