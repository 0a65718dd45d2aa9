"""Two days of a fleet's life in the seconds that there are (an hour, by --seconds 3600): jobs come and go, spike, are searched, watched and deleted, webhooks ring. Is its memory
flat after the second hour of that life?"""

import random
import statistics
import threading
import time
import urllib.parse

import harness
from receiver import Receiver
from smserver import Server
from table import Line, Row

LIFE_H, SETTLED_H = 48, 2
RUNNING, KEPT, STREAMS, LINES_A_BATCH = 12, 60, 2, 40
BATCHES, PAUSE_S, SAMPLE_S = (10, 60), 0.05, 0.5
MOST_GROWTH = 0.10
OPTIONS = ("--seal-age", "5s", "--seal-bytes", "256KiB", "--log-bytes", str(16 << 20), "--wal-bytes", "4MiB")


class Fleet:
    """Each of a few threads runs one job after another; one reads as people do."""

    def __init__(self, server, until):
        self.server, self.until = server, until
        self.lock, self.ended, self.failures = threading.Lock(), [], []
        self.counts = dict.fromkeys(("jobs", "lines", "deletions", "searches", "views"), 0)
        self.threads = [threading.Thread(target=self.guard, args=(work, random.Random(number))) for number, work in enumerate([self.train] * RUNNING + [self.look])]

    def guard(self, work, chance):
        try:
            while time.monotonic() < self.until and not self.failures:
                work(chance)
        except Exception as failure:  # told by measure(), which alone ends the run
            self.failures.append(repr(failure))

    def count(self, what, some=1):
        with self.lock:
            self.counts[what] += some

    def must(self, reply, *statuses):
        assert reply.status in (statuses or (200, 201, 204)), reply
        return reply

    def train(self, chance):
        with self.lock:
            self.counts["jobs"] += 1
            job = f"soak-{self.counts['jobs']}"
        document = {"TrainingJobName": job, "HyperParameters": {"lr": str(chance.random()), "seed": str(chance.randrange(1 << 30))}}
        self.must(self.server.post("/api/v1/jobs", json=document))
        for batch in range(chance.randrange(*BATCHES)):
            for stream in range(STREAMS):
                first = batch * LINES_A_BATCH
                lines = [self.line(chance, first + n) for n in range(LINES_A_BATCH)]
                self.must(self.server.post(f"/api/v1/logs?job={job}&stream=algo-{stream + 1}", "".join(lines)))
                self.count("lines", len(lines))
            time.sleep(PAUSE_S)
            if time.monotonic() > self.until:
                break
        self.must(self.server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": chance.choice(("Completed", "Completed", "Failed"))}))
        self.leave(job)

    @staticmethod
    def line(chance, step):
        way = chance.random()
        loss = "nan" if way < 0.0005 else f"{9 + chance.random():.4f}" if way < 0.001 else f"{3 / (1 + step / 50) + chance.random() / 50:.4f}"
        return f"step: {step} loss: {loss} grad_norm: {chance.random():.4f} note {chance.randrange(1 << 60):x}\n"

    def leave(self, job):
        """The oldest go: every other one into the trash, which is emptied, too."""
        with self.lock:
            self.ended.append(job)
            oldest = self.ended.pop(0) if len(self.ended) > KEPT else None
        if oldest:
            while self.server.delete(f"/api/v1/jobs/{oldest}?purge=true").status == 409:  # its last lines are on their way
                time.sleep(PAUSE_S)
            self.count("deletions")

    def look(self, chance):
        with self.lock:
            job = chance.choice(self.ended) if self.ended else None
        paths = ["/api/v1/jobs?limit=50", "/api/v1/incidents", "/api/v1/fleet", "/api/v1/jobs?" + urllib.parse.urlencode({"q": "status:failed loss<2"})]
        if job:
            paths += [f"/api/v1/jobs/{job}", f"/api/v1/jobs/{job}/points?metric=train:loss&buckets=500", f"/api/v1/jobs/{job}/logs?stream=algo-1&limit=200",
                f"/api/v1/jobs/{job}/logs/search?q=note+{chance.randrange(4096):x}"]
        path = chance.choice(paths)
        reply = self.server.get(path)
        assert reply.status in (200, 404, 410), (path, reply)
        self.count("searches" if "q=" in path else "views")
        time.sleep(PAUSE_S)


def live(server, fleet, began, seconds):
    """(hour of that life, bytes of memory, jobs so far), again and again."""
    samples = []
    for thread in fleet.threads:
        thread.start()
    while time.monotonic() < fleet.until and not fleet.failures:
        samples.append((LIFE_H * (time.monotonic() - began) / seconds, harness.memory_mb(server.process.pid, "RssAnon"), fleet.counts["jobs"]))
        time.sleep(SAMPLE_S)
    for thread in fleet.threads:
        thread.join()
    return samples


def draw(server, samples):
    """By the server itself, into build/soak.svg."""
    body = {"series": [{"metric": "RssAnon MB", "step": [round(60 * hour) for hour, _, _ in samples], "value": [memory for _, memory, _ in samples]}]}
    assert server.post("/api/v1/points?job=soak", json=body).status == 200
    server.wait_for_points("soak", "RssAnon MB", len(samples))
    picture = server.get("/api/v1/jobs/soak/chart.svg?" + urllib.parse.urlencode({"metric": "RssAnon MB", "width": 900}))
    assert picture.status == 200, picture
    path = harness.ROOT / "build/soak.svg"
    path.parent.mkdir(exist_ok=True)  # what is measured may have been built elsewhere
    path.write_bytes(picture.raw)


def measure_soak(bench):
    bench.say(f"{LIFE_H} hours of a fleet's life in {bench.seconds:.0f} s")
    receiver, server = Receiver(), Server(bench.folder, *OPTIONS)
    server.start()
    try:
        assert server.post("/api/v1/webhooks", json={"url": receiver.url, "per_minute": 0}).status == 201
        began = time.monotonic()
        fleet = Fleet(server, began + bench.seconds)
        samples = live(server, fleet, began, bench.seconds)
        assert not fleet.failures, fleet.failures
        incidents = len(server.get("/api/v1/incidents?limit=1000").body["incidents"])
        draw(server, samples)
        return {"samples": samples, "counts": fleet.counts, "messages": len(receiver.calls), "incidents": incidents}
    finally:
        server.stop()
        receiver.close()


def by_hours(samples, width):
    """(first hour, median of its memory, jobs by then) of each so many hours."""
    rows = []
    for first in range(0, LIFE_H, width):
        some = [sample for sample in samples if first <= sample[0] < first + width]
        if some:
            rows.append((first, statistics.median(memory for _, memory, _ in some), some[-1][2]))
    return rows


def report_soak(found, bench):
    rows = by_hours(found["samples"], SETTLED_H)
    first, last = rows[1], rows[-1]
    growth, jobs = last[1] / first[1] - 1, max(1, last[2] - first[2])
    figure = f"RssAnon {first[1]:.1f} MB after {SETTLED_H} h, {last[1]:.1f} MB at the end: {1e6 * (last[1] - first[1]) / jobs:+.0f} bytes a job"
    return [Line(f"{LIFE_H} hours of a fleet's life, {found['counts']['jobs']} jobs", figure, "", "", f"at most +{100 * MOST_GROWTH:.0f} % after {SETTLED_H} h", growth <= MOST_GROWTH)]


def tell_soak(found, bench):
    told = ", ".join(f"{count} {what}" for what, count in {**found["counts"], "incidents": found["incidents"], "messages": found["messages"]}.items())
    return ["", f"A fleet's life: {told}; its memory is drawn in build/soak.svg.", "hour of life  RssAnon MB  jobs so far",
        *(f"{first:12}  {memory:10.1f}  {jobs:11}" for first, memory, jobs in by_hours(found["samples"], 4))]


ROWS = [Row("soak", measure_soak, report_soak, tell_soak)]
