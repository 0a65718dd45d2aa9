"""
What sm-ship costs the machine that trains: its processor time and memory beside a program that prints, and how often a print found
the pipe full. With the server there, and with one that has stopped answering, when lines go to the spool.
"""

import json
import pathlib
import signal
import subprocess
import sys
import time

from harness import MB, memory_mb
from smserver import Server, build_folder, wait_until
from table import Line, Row

LINES_A_S, SECONDS, QUICK_SECONDS, GOAL_PERCENT = 10_000, 60, 15, 0.5
WRITER = pathlib.Path(__file__).with_name("ship_writer.py")
SAMPLE_S = 0.05


def family(pid):
    """sm-ship and its own helpers, without the command."""
    found = [pid]
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name, parent = text.partition("(")[2].rpartition(")")[0], int(text.rpartition(")")[2].split()[1])
        if parent == pid and name.startswith("sm-ship"):
            found.append(int(stat.parent.name))
    return found


def ship(bench, server, name, lines, seconds, *options):
    folder = bench.folder / name
    folder.mkdir()
    command = [build_folder() / "sm-ship", "--server", server.url, "--job", name, "--stream", "algo-1", "--spool", folder, "--drain-timeout", "2s", *options,
        "--", sys.executable, WRITER, str(lines), str(seconds)]
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        shipping = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    spent, peak_mb = {}, {}
    while shipping.poll() is None:  # a zombie says nothing: what it had spent last counts
        for pid in family(shipping.pid):
            try:
                spent[pid] = max(spent.get(pid, 0.0), time.clock_gettime(~pid << 3 | 2))  # clock_getcpuclockid(3); its threads that have ended count
                peak_mb[pid] = max(peak_mb.get(pid, 0.0), memory_mb(pid, "RssAnon"))
            except (OSError, IndexError):
                continue
        time.sleep(SAMPLE_S)
    said = next(json.loads(line) for line in (folder / "err").read_text().splitlines() if line.startswith("{"))
    return {**said, "ship_cpu_seconds": sum(spent.values()), "rss_anon_mb": sum(peak_mb.values()), "processes": len(spent)}


def measure_ship(bench):
    seconds = QUICK_SECONDS if bench.is_quick else SECONDS
    bench.say(f"sm-ship beside {LINES_A_S} lines a second, {seconds} s")
    server = Server(bench.folder).start()
    try:
        found = {"idle": ship(bench, server, "idle", 100, seconds), "sent": ship(bench, server, "sent", LINES_A_S, seconds)}
        wait_until(lambda: count_lines(server, "sent") > found["sent"]["lines"], what="all lines")  # and what it says last
        server.signal(signal.SIGSTOP)
        found["away"] = ship(bench, server, "away", LINES_A_S, seconds)
    finally:
        server.signal(signal.SIGCONT)
        server.stop()
    return found


def count_lines(server, job):
    return sum(stream["lines"] for stream in server.get(f"/api/v1/jobs/{job}/streams").body["streams"] if stream["stream"] == "algo-1")


def report_ship(found, bench):
    lines = []
    for name, what in (("idle", "100 lines a second"), ("sent", "10,000 lines a second"), ("away", "10,000 lines a second, no server")):
        one = found[name]
        percent = one["ship_cpu_seconds"] / one["seconds"] * 100
        lines.append(Line(f"sm-ship beside {what}", f"{percent:.2f} % of a core, {one['ship_cpu_seconds'] / (one['bytes'] / MB) * 1000:.2f} ms a MB",
            f"writer {one['cpu_seconds'] / one['seconds'] * 100:.1f} %", "", f"<= {GOAL_PERCENT} %", percent <= GOAL_PERCENT))
        lines.append(Line("  memory; prints that found the pipe full", f"{one['rss_anon_mb']:.1f} MB; {one['full']} of {one['writes']}", "", "", "0",
            one["full"] == 0))
    return lines


ROWS = [Row("ship", measure_ship, report_ship)]
